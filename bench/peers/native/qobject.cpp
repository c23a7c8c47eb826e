// SPDX-License-Identifier: MIT
// Signals and slots of Qt objects, connected to lambdas.
// needs: Qt6Core
// package: qt6-base-dev
// moc: yes
#include "peer.hpp"

#include <QObject>

class signal_t : public QObject
{
	Q_OBJECT
      public:
	void operator()(qint64 value)
	{
		emit changed(value);
	}
      signals:
	void changed(qint64 value);
};

struct connection_t : QMetaObject::Connection {
	connection_t() = default;
	connection_t(const QMetaObject::Connection &c)
	    : QMetaObject::Connection(c)
	{
	}
	void disconnect()
	{
		QObject::disconnect(*this);
	}
};

#undef emit
#undef signals
#define CONNECT(signal, slot)                                                  \
	QObject::connect(&(signal), &signal_t::changed, (slot))

#include "signals.hpp"

const peer the_peer = make_peer<signals>(
	"QObject", QT_VERSION_STR,
	"signals of objects: no derived cells, no batch (written by hand)");

#include "qobject.moc"
