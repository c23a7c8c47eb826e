// SPDX-License-Identifier: MIT
// Boost.Signals2: signals with a lock of their own.
// header: boost/signals2.hpp
// package: libboost1.81-dev|libboost-dev
#include "peer.hpp"

#include <boost/signals2.hpp>
#include <boost/version.hpp>

using signal_t = boost::signals2::signal<void(int64_t)>;
using connection_t = boost::signals2::connection;
#define CONNECT(signal, slot) (signal).connect(slot)

#include "signals.hpp"

const peer the_peer = make_peer<signals>(
	"boost.signals2", BOOST_LIB_VERSION,
	"thread-safe signals: no values, no derived cells, no batch (written "
	"by hand); a slot may still run after it was disconnected");
