//! Kerberos authentication to the servers (`hbase.security.authentication=kerberos`): at the
//! beginning of a connection the client shows a ticket by SASL with the mechanism GSSAPI, RFC 4752.
//!
//! ```text
//! client: "HBas" 0 81
//! client: u32 length  token                   server: i32 0  i32 length  token
//!         as often as the ticket takes        server: i32 0  i32 length  wrapped: offer
//! client: u32 length  wrapped: choice
//! offer:  u8 protections  u24 length          choice: u8 protection  u24 0
//! server, in place of a token: i32 status  i32 length  class  i32 length  message
//! ```
//!
//! Only the caller's identity is protected (`hbase.rpc.protection=authentication`); requests and
//! answers need TLS. A server that insists on wrapping the bytes that follow is given up with an
//! error.

use std::fmt;
use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::{Error as GssError, MajorFlags};
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_KRB5_PRINCIPAL, OidSet};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task;

use crate::{Error, frame};

/// The principal of a cluster's servers. Tickets are the system's: from the cache that `kinit`
/// fills (`KRB5CCNAME`), or by a keytab (`KRB5_CLIENT_KTNAME`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kerberos {
    principal: String,
}

/// The error of a text that is no principal of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAPrincipal(String);

impl fmt::Display for NotAPrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no principal of HBase's servers; write hbase/_HOST@REALM", self.0)
    }
}

impl std::error::Error for NotAPrincipal {}

/// The part of a principal that stands for the name of the asked server.
const HOST: &str = "_HOST";

/// The value in place of a token's length, if the server has no Kerberos.
const SIMPLE: i32 = -88;

/// The longest token or error text that is taken, in bytes.
const TOKEN_LEN_MAX: usize = 1 << 20;

/// The SASL protection of the identity alone: requests and answers are not protected.
const AUTHENTICATION: u8 = 1;

/// `KRB5_KDC_UNREACH` of libkrb5: the one failure here that passes by itself.
const NO_KDC: u32 = -1_765_328_228_i32 as u32;

impl Kerberos {
    /// Takes a principal such as `hbase/_HOST@REALM`, as in
    /// `hbase.regionserver.kerberos.principal`. `_HOST` stands for the host of each server, as
    /// `hbase:meta` names it, in lower case. The realm may be left out if the system's
    /// configuration names one.
    ///
    /// # Errors
    /// [`NotAPrincipal`] if the text has no service or no host, or is no principal otherwise.
    pub fn new(principal: &str) -> Result<Self, NotAPrincipal> {
        let (name, realm) = principal.split_once('@').map_or((principal, None), |(a, b)| (a, Some(b)));
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
        let is_one = name.split_once('/').is_some_and(|(service, host)| is_word(service) && is_word(host));
        if is_one && realm.is_none_or(is_word) {
            return Ok(Self { principal: principal.to_owned() });
        }
        Err(NotAPrincipal(principal.to_owned()))
    }

    /// Returns the principal of the server on a host.
    fn of_host(&self, host: &str) -> String {
        self.principal.replacen(HOST, &host.to_lowercase(), 1)
    }

    /// Begins a connection, and shows the server a ticket.
    pub(crate) async fn show(
        &self,
        host: &str,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> Result<(), Error> {
        let service = self.of_host(host);
        let begun = Ticket::new(service);
        // The library asks the KDC, and blocks meanwhile.
        let (mut ticket, mut token) = aside(begun, |ticket| ticket.step(None)).await?;
        let mut first = BytesMut::from(&frame::preamble_of_ticket()[..]);
        loop {
            let token_now = token.take().unwrap_or_default();
            first.put_u32(token_now.len() as u32);
            first.put_slice(&token_now);
            stream.write_all(&first).await.map_err(failed)?;
            stream.flush().await.map_err(failed)?;
            first.clear();
            let answer = answer(stream, &ticket.service).await?;
            if ticket.is_complete {
                let agreed = ticket.agree(&answer)?;
                first.put_u32(agreed.len() as u32);
                first.put_slice(&agreed);
                stream.write_all(&first).await.map_err(failed)?;
                return stream.flush().await.map_err(failed);
            }
            (ticket, token) = aside(ticket, move |ticket| ticket.step(Some(&answer))).await?;
        }
    }
}

fn failed(source: io::Error) -> Error {
    Error::Connection { source, was_sent: false }
}

/// Returns an error that may not recur at the next try.
fn passing(what: String) -> Error {
    failed(io::Error::other(what))
}

/// Runs a step in a thread that may block.
async fn aside<T: Send + 'static>(
    mut ticket: Ticket,
    step: impl FnOnce(&mut Ticket) -> Result<T, Error> + Send + 'static,
) -> Result<(Ticket, T), Error> {
    let stepped = task::spawn_blocking(move || step(&mut ticket).map(|token| (ticket, token)));
    stepped.await.map_err(|error| failed(io::Error::other(error)))?
}

/// A ticket on its way to a server.
struct Ticket {
    service: String,
    context: Option<ClientCtx>,
    is_complete: bool,
}

impl Ticket {
    fn new(service: String) -> Self {
        Self { service, context: None, is_complete: false }
    }

    /// Takes the server's token, if any, and returns the client's next one, if any.
    fn step(&mut self, token: Option<&[u8]>) -> Result<Option<Bytes>, Error> {
        let context = match self.context.take() {
            Some(context) => context,
            None => self.begin()?,
        };
        let context = self.context.insert(context);
        let next = context.step(token, None);
        let next = next.map_err(|error| refused(&self.service, error))?.filter(|token| !token.is_empty());
        // Open once there is nothing to send: with both sides shown, after the server's answer.
        self.is_complete = context.open().unwrap_or(false);
        Ok(next.map(|token| Bytes::copy_from_slice(&token)))
    }

    fn begin(&self) -> Result<ClientCtx, Error> {
        let mechanism = OidSet::singleton(GSS_MECH_KRB5);
        let ticket = mechanism
            .and_then(|mechanism| Cred::acquire(None, None, CredUsage::Initiate, Some(&mechanism)))
            .map_err(no_ticket)?;
        let name = Name::new(self.service.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL));
        let name = name.map_err(|error| refused(&self.service, error))?;
        let flags = CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_INTEG_FLAG | CtxFlags::GSS_C_SEQUENCE_FLAG;
        Ok(ClientCtx::new(Some(ticket), name, flags, Some(GSS_MECH_KRB5)))
    }

    /// Answers the server's offer of protections: none for the bytes that follow.
    fn agree(&mut self, offer: &[u8]) -> Result<Bytes, Error> {
        let service = &self.service;
        let context = self.context.as_mut().ok_or(Error::Invalid("a ticket that was not shown"))?;
        let offered = context.unwrap(offer).map_err(|error| refused(service, error))?;
        if offered.len() != 4 {
            return Err(Error::Protocol(format!("an offer of SASL that has {} bytes", offered.len())));
        }
        if offered[0] & AUTHENTICATION == 0 {
            let what = format!(
                "{service} wants all requests wrapped (hbase.rpc.protection=integrity or privacy), which is not done here; \
                 let it take `authentication`, too, with TLS for the rest, or go through a gateway"
            );
            return Err(Error::Kerberos(what));
        }
        // No other user than the ticket's own.
        let agreed = context.wrap(false, &[AUTHENTICATION, 0, 0, 0]);
        let agreed = agreed.map_err(|error| refused(service, error))?;
        Ok(Bytes::copy_from_slice(&agreed))
    }
}

fn no_ticket(error: GssError) -> Error {
    let what = format!(
        "there is no ticket ({error}); run `kinit`, or name a keytab in KRB5_CLIENT_KTNAME; tickets are looked for where KRB5CCNAME says"
    );
    Error::Kerberos(what)
}

fn refused(service: &str, error: GssError) -> Error {
    if error.minor == NO_KDC {
        return passing(format!("no KDC answers ({error}); is KRB5_CONFIG the right one?"));
    }
    // `MajorFlags` are numbers, despite the name.
    let has_none =
        [MajorFlags::GSS_S_NO_CRED, MajorFlags::GSS_S_CREDENTIALS_EXPIRED].map(|number| number.bits());
    if has_none.contains(&error.major.bits()) {
        return no_ticket(error);
    }
    Error::Kerberos(format!(
        "no ticket for {service} ({error}); is that the principal of this server, with the name that it is asked by, and is the ticket of \
         `kinit` still valid?"
    ))
}

/// Reads a token of the server.
async fn answer(stream: &mut (impl AsyncRead + Unpin), service: &str) -> Result<Bytes, Error> {
    if stream.read_i32().await.map_err(failed)? != 0 {
        let (class, message) = (text(stream).await?, text(stream).await?);
        let class = class.rsplit('.').next().unwrap_or_default();
        // The cause may pass: a wrong clock, or two tickets of one moment.
        return Err(passing(format!("{service} does not take the ticket: {class}: {message}")));
    }
    match stream.read_i32().await.map_err(failed)? {
        SIMPLE => Err(Error::Kerberos(format!(
            "{service} is asked for by Kerberos, but the server does not use it"
        ))),
        len => bytes(stream, len).await,
    }
}

async fn text(stream: &mut (impl AsyncRead + Unpin)) -> Result<String, Error> {
    match stream.read_i32().await.map_err(failed)? {
        // Hadoop's encoding of null.
        -1 => Ok(String::new()),
        len => Ok(String::from_utf8_lossy(&bytes(stream, len).await?).into_owned()),
    }
}

async fn bytes(stream: &mut (impl AsyncRead + Unpin), len: i32) -> Result<Bytes, Error> {
    let len = usize::try_from(len).ok().filter(|len| *len <= TOKEN_LEN_MAX);
    let len = len.ok_or_else(|| Error::Protocol("a token that is too long".to_owned()))?;
    let mut bytes = Vec::new();
    let n = stream.take(len as u64).read_to_end(&mut bytes).await.map_err(failed)?;
    if n < len {
        return Err(failed(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_goes_by_its_host() {
        let of = |principal: &str, host: &str| Kerberos::new(principal).unwrap().of_host(host);
        assert_eq!(of("hbase/_HOST@A.B", "Node-7.example"), "hbase/node-7.example@A.B");
        assert_eq!(of("hb/_HOST", "n"), "hb/n");
        assert_eq!(of("hbase/one@A", "n"), "hbase/one@A");
        for no in
            ["", "hbase", "hbase@A", "hbase/@A", "/_HOST@A", "hbase/_HOST@", "hbase/a b", "a/b/c", "a/b@c@d"]
        {
            assert!(Kerberos::new(no).is_err(), "{no}");
        }
    }

    /// Returns the outcome of a server's answer of these bytes.
    async fn answered(bytes: &[u8]) -> Result<Bytes, Error> {
        answer(&mut &bytes[..], "hbase/h").await
    }

    #[tokio::test]
    async fn what_a_server_answers() {
        let ok = answered(b"\0\0\0\0\0\0\0\x02ab").await.unwrap();
        assert_eq!(&ok[..], b"ab");
        let refused = answered(b"\0\0\0\x01\0\0\0\x03a.B\0\0\0\x04why!").await.unwrap_err();
        assert!(refused.to_string().ends_with("hbase/h does not take the ticket: B: why!"), "{refused}");
        assert!(!refused.may_be_done());
        let null = answered(b"\0\0\0\x01\0\0\0\x01B\xff\xff\xff\xff").await.unwrap_err();
        assert!(null.to_string().ends_with("B: "), "{null}");
        let simple = answered(b"\0\0\0\0\xff\xff\xff\xa8").await.unwrap_err();
        assert!(matches!(&simple, Error::Kerberos(what) if what.contains("does not use it")), "{simple}");
        for cut in [&b"\0\0\0\0\0\0\0\x02a"[..], b"\0\0\0", b"\0\0\0\x01\0\0\0\x03a"] {
            assert!(matches!(answered(cut).await, Err(Error::Connection { was_sent: false, .. })), "{cut:?}");
        }
        for long in [&b"\0\0\0\0\x7f\xff\xff\xff"[..], b"\0\0\0\0\xff\xff\xff\xff"] {
            assert!(matches!(answered(long).await, Err(Error::Protocol(_))), "{long:?}");
        }
    }
}
