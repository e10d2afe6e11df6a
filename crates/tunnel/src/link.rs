//! One WebRTC connection: datagrams on one side, messages of channels on the other.

use crate::limits;
use crate::network::{Datagram, Network};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Instant;
use str0m::change::{SdpAnswer, SdpOffer, SdpPendingOffer};
use str0m::channel::{ChannelConfig, ChannelData, ChannelId};
use str0m::config::DtlsCert;
use str0m::ice::IceCreds;
use str0m::net::{Protocol, Receive, Transmit};
use str0m::{Event, IceConnectionState, Input, Output, Rtc};
use swb_wire::tunnel::sdp;
use tokio::time::{sleep_until, timeout};

/// Something that happened to a connection.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// A channel is open, ours or one of the peer's.
    Open { channel: ChannelId, label: String },
    /// A message has arrived.
    Message(ChannelData),
    /// A channel is closed.
    Closed(ChannelId),
    /// Whether the peer can be reached.
    Reachable(bool),
    /// Datagrams have been exchanged: there may be room for more messages.
    Progress,
    /// The connection has ended.
    Ended,
}

/// What an offer commits us to: a certificate, and the credentials of ICE.
pub(crate) struct LinkIdentity {
    certificate: DtlsCert,
    credentials: IceCreds,
}

impl LinkIdentity {
    /// A new one; `None` if no certificate could be made.
    pub(crate) fn new() -> Option<Self> {
        let certificate = str0m::crypto::from_feature_flags().dtls_provider.generate_certificate()?;
        Some(Self { certificate, credentials: IceCreds::new() })
    }

    /// A connection that has not begun.
    fn connection(&self, network: &Network) -> Rtc {
        let config = Rtc::builder()
            .clear_codecs()
            .set_dtls_cert(self.certificate.clone())
            .set_local_ice_credentials(self.credentials.clone())
            .set_sctp_max_message_size(limits::MESSAGE_RECEIVED)
            .set_sctp_max_buffered_amount(limits::BUFFERED);
        let mut rtc = config.build(Instant::now());
        for candidate in network.candidates() {
            rtc.add_local_candidate(candidate);
        }
        rtc
    }
}

/// A connection, whichever end we are.
pub(crate) struct PeerLink {
    rtc: Rtc,
    network: Network,
    buffer: Vec<u8>,
    /// A datagram that waits for its socket.
    outbound: Option<Transmit>,
    peer: Option<SocketAddr>,
    /// Whether anything of the peer has arrived.
    heard: bool,
    /// Whether there was a way to the peer and back.
    reached: bool,
    /// Bytes of the longest message that the peer takes.
    longest: usize,
    failure: Option<String>,
}

impl PeerLink {
    pub(crate) fn new(network: Network, identity: &LinkIdentity) -> Self {
        let rtc = identity.connection(&network);
        let buffer = vec![0; limits::DATAGRAM];
        Self {
            rtc,
            network,
            buffer,
            outbound: None,
            peer: None,
            heard: false,
            reached: false,
            longest: limits::MESSAGE,
            failure: None,
        }
    }

    /// The offer of a connection with one channel, which opens when the peer has connected.
    pub(crate) fn offer(&mut self, label: &str) -> Option<(String, ChannelId, SdpPendingOffer)> {
        let mut changes = self.rtc.sdp_api();
        let channel = changes.add_channel(label.to_owned());
        let (offer, pending) = changes.apply()?;
        Some((sdp::complete(&offer.to_sdp_string()), channel, pending))
    }

    /// Takes the peer's answer to an offer of `identity`; returns the channel. After an error another answer may be taken.
    ///
    /// The connection begins anew here: the time for its handshake runs from its beginning, and an answer may take long.
    pub(crate) fn accept_answer(
        &mut self,
        identity: &LinkIdentity,
        label: &str,
        answer: &str,
    ) -> Result<ChannelId, String> {
        self.rtc = identity.connection(&self.network);
        let (offer, channel, pending) = self.offer(label).ok_or("no offer could be made")?;
        let renamed = sdp::with_mid(answer, sdp::mid(&offer).unwrap_or_default());
        let answer = SdpAnswer::from_sdp_string(&renamed).map_err(|_| "it is no SDP that can be read")?;
        self.rtc.sdp_api().accept_answer(pending, answer).map_err(|error| error.to_string())?;
        self.longest = sdp::max_message_size(&renamed).unwrap_or(limits::MESSAGE).min(limits::MESSAGE);
        // The search for a way begins when the connection knows the time.
        self.handle(None);
        Ok(channel)
    }

    /// Takes the peer's offer; returns our answer. May be repeated, as the time for the handshake runs from here.
    pub(crate) fn accept_offer(&mut self, identity: &LinkIdentity, offer: &str) -> Result<String, String> {
        (self.rtc, self.outbound, self.failure) = (identity.connection(&self.network), None, None);
        let offer = SdpOffer::from_sdp_string(offer).map_err(|error| error.to_string())?;
        let answer = self.rtc.sdp_api().accept_offer(offer).map_err(|error| error.to_string())?;
        self.handle(None);
        Ok(answer.to_sdp_string())
    }

    /// Whether anything of the peer has arrived.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Whether there was a way to the peer and back.
    pub(crate) fn has_reached(&self) -> bool {
        self.reached
    }

    /// Bytes of the longest message that both ends take.
    pub(crate) fn longest_message(&self) -> usize {
        self.longest
    }

    /// Where the peer is, as far as it is known.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Opens a channel: ordered, and nothing is lost.
    pub(crate) fn open(&mut self, label: String) -> ChannelId {
        self.rtc.direct_api().create_data_channel(ChannelConfig { label, ..ChannelConfig::default() })
    }

    /// Sends a message; `false` if there is no room for it yet. A channel that is closed takes everything.
    pub(crate) fn send(&mut self, channel: ChannelId, message: &LinkMessage) -> bool {
        let Some(mut channel) = self.rtc.channel(channel) else { return true };
        let (binary, bytes) = match message {
            LinkMessage::Text(text) => (false, text.as_bytes()),
            LinkMessage::Binary(bytes) => (true, bytes.as_slice()),
        };
        channel.write(binary, bytes).unwrap_or(true)
    }

    /// Whether the peer has everything that was sent on a channel.
    pub(crate) fn has_sent(&mut self, channel: ChannelId) -> bool {
        self.rtc.channel(channel).is_none_or(|mut channel| channel.buffered_amount() == 0)
    }

    /// Closes a channel. What was sent on it and has not arrived may be lost.
    pub(crate) fn close_channel(&mut self, channel: ChannelId) {
        self.rtc.direct_api().close_data_channel(channel);
    }

    /// Keeps the way to our addresses open as long as there is no peer. Never returns.
    pub(crate) async fn stand_by(&mut self) {
        loop {
            let (network, buffer) = (&mut self.network, &mut self.buffer);
            poll_fn(|context| network.poll_receive(context, buffer)).await;
        }
    }

    /// Waits for the next event. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        let mut datagrams = 0;
        loop {
            self.transmit().await;
            if !self.rtc.is_alive() {
                return LinkEvent::Ended;
            }
            let due = match self.rtc.poll_output() {
                Ok(Output::Transmit(datagram)) => {
                    self.outbound = Some(datagram);
                    continue;
                }
                Ok(Output::Event(event)) => {
                    self.reached |=
                        matches!(&event, Event::IceConnectionStateChange(state) if state.is_connected());
                    match translated(event) {
                        Some(event) => return event,
                        None => continue,
                    }
                }
                Ok(Output::Timeout(_)) if !self.rtc.is_alive() => return LinkEvent::Ended,
                Ok(Output::Timeout(due)) => due,
                Err(error) => {
                    self.fail(error.to_string());
                    return LinkEvent::Ended;
                }
            };
            let received = if datagrams == 0 {
                self.receive_until(due).await
            } else {
                // Others have a turn before the socket is asked again without end.
                match (datagrams < limits::DATAGRAMS, self.receive_now().await) {
                    (true, Some(datagram)) => Some(datagram),
                    (false, Some(datagram)) => {
                        self.handle(Some(datagram));
                        return LinkEvent::Progress;
                    }
                    (_, None) => return LinkEvent::Progress,
                }
            };
            datagrams += u32::from(received.is_some());
            self.handle(received);
        }
    }

    /// Closes the connection to a peer, if there is one, and waits a moment until that is sent.
    pub(crate) async fn close(mut self, connected: bool) {
        if connected {
            self.say_goodbye().await;
        }
        self.network.close();
    }

    async fn say_goodbye(&mut self) {
        // Without a connection there is no peer to send it to.
        let _closing = self.rtc.close();
        let closing = async { while !matches!(self.next().await, LinkEvent::Ended) {} };
        // A peer that is gone hears nothing.
        let _closed = timeout(limits::GOODBYE, closing).await;
    }

    async fn transmit(&mut self) {
        let Some(datagram) = &self.outbound else { return };
        let (from, to, network) = (datagram.source, datagram.destination, &mut self.network);
        poll_fn(|context| network.poll_send(context, from, to, &datagram.contents)).await;
        self.peer = Some(to);
        self.outbound = None;
    }

    async fn receive_until(&mut self, due: Instant) -> Option<Datagram> {
        let (network, buffer) = (&mut self.network, &mut self.buffer);
        tokio::select! {
            biased;
            datagram = poll_fn(|context| network.poll_receive(context, buffer)) => Some(datagram),
            () = sleep_until(due.into()) => None,
        }
    }

    /// A datagram that has arrived already.
    async fn receive_now(&mut self) -> Option<Datagram> {
        let (network, buffer) = (&mut self.network, &mut self.buffer);
        poll_fn(|context| match network.poll_receive(context, buffer) {
            Poll::Ready(datagram) => Poll::Ready(Some(datagram)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// What went wrong with the connection, if anything did.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn fail(&mut self, error: String) {
        tracing::debug!(error, "a tunnel's connection failed");
        self.rtc.disconnect();
        self.failure = Some(error);
    }

    /// Passes on a datagram, or the time.
    fn handle(&mut self, datagram: Option<Datagram>) {
        let now = Instant::now();
        let received = datagram.and_then(|Datagram { from, to, length }| {
            Receive::new(Protocol::Udp, from, to, self.buffer.get(..length)?).ok()
        });
        let input = received.map_or(Input::Timeout(now), |received| Input::Receive(now, received));
        // A peer that knows the address can send anything; what is not part of the connection is dropped.
        if matches!(&input, Input::Receive(..)) {
            if !self.rtc.accepts(&input) {
                return;
            }
            self.heard = true;
        }
        if let Err(error) = self.rtc.handle_input(input) {
            self.fail(error.to_string());
        }
    }
}

/// A message of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkMessage {
    Text(String),
    Binary(Vec<u8>),
}

fn translated(event: Event) -> Option<LinkEvent> {
    Some(match event {
        Event::ChannelOpen(channel, label) => LinkEvent::Open { channel, label },
        Event::ChannelData(data) => LinkEvent::Message(data),
        Event::ChannelClose(channel) => LinkEvent::Closed(channel),
        Event::IceConnectionStateChange(state) => {
            LinkEvent::Reachable(!matches!(state, IceConnectionState::Disconnected))
        }
        Event::Closed => LinkEvent::Ended,
        _ => return None,
    })
}
