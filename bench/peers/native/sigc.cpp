// SPDX-License-Identifier: MIT
// libsigc++: typed signals and slots.
// needs: sigc++-3.0
// package: libsigc++-3.0-dev
#include "peer.hpp"

#include <sigc++/sigc++.h>

using signal_t = sigc::signal<void(int64_t)>;
using connection_t = sigc::connection;
#define CONNECT(signal, slot) (signal).connect(slot)

#include "signals.hpp"

const peer the_peer = make_peer<signals>(
	"libsigc++", PEER_VERSION,
	"signals: no values, no derived cells, no batch (written by hand); "
	"lambdas are not disconnected with what they use");
