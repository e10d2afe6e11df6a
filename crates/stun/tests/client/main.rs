//! The client of STUN and TURN servers: its codec, its state machines with a scripted server, and a real server.

mod allocation;
mod arbitrary;
mod binding;
mod coturn;
mod peers;
mod script;
mod vectors;
