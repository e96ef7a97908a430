//! `pigeonhole key`: converts row keys from and to the notation of people and the HBase shell.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Context, bail};
use index::SketchKind;
use simhash::{Fingerprint, KeyRange, RowKey};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show what a row key says, and whether the scheme writes such a key
    Decode(DecodeArgs),
    /// List the row keys of a fingerprint, one a table, with the range a query scans
    Encode(EncodeArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DecodeArgs {
    /// 26 hex digits, or as the HBase shell prints it:
    /// '\x00\x04\x8D\x15\x01\x01#Eg\x89\xAB\xCD\xEF'
    #[arg(value_name = "KEY")]
    key: String,
    /// The table scheme the key is held against
    #[arg(long, value_name = "NAME", default_value = "5c2", value_parser = SketchKind::NAMES)]
    scheme: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EncodeArgs {
    /// 16 hex digits
    #[arg(value_name = "FINGERPRINT")]
    fingerprint: Fingerprint,
    /// The table scheme
    #[arg(long, value_name = "NAME", default_value = "5c2", value_parser = SketchKind::NAMES)]
    scheme: String,
}

pub(crate) fn run(command: &Command, out: &mut dyn Write) -> anyhow::Result<()> {
    match command {
        Command::Decode(args) => decode(args, out),
        Command::Encode(args) => encode(args, out),
    }
}

fn decode(args: &DecodeArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let key = RowKey::decode(&parse_bytes(&args.key)?)?;
    let kind: SketchKind = args.scheme.parse()?;
    writeln!(out, "segment      {:08x}", key.segment)?;
    writeln!(out, "flag         {}", key.flag)?;
    writeln!(out, "fingerprint  {}", key.fingerprint)?;
    writeln!(out, "shell        \"{}\"", shell_form(&key.encode()))?;
    kind.check(key).with_context(|| format!("not a row key of scheme {}", kind.name()))?;
    writeln!(out, "a row key of scheme {}: the segment belongs to the fingerprint", kind.name())?;
    Ok(())
}

/// Prints one line a table: flag, segment, the key in hex and in the shell's form, and the shell's
/// scan of its bucket.
fn encode(args: &EncodeArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let kind: SketchKind = args.scheme.parse()?;
    writeln!(out, "flag  segment   key, and the scan of its bucket in the HBase shell")?;
    for bucket in kind.sketch(args.fingerprint).keys() {
        let key = RowKey::new(bucket, args.fingerprint).encode();
        let range = KeyRange::of_bucket(bucket);
        writeln!(out, "{:>4}  {:08x}  {}  \"{}\"", bucket.flag, bucket.segment, hex(&key), shell_form(&key))?;
        writeln!(
            out,
            "                scan 'TABLE', {{STARTROW => \"{}\", STOPROW => \"{}\"}}",
            shell_form(range.start()),
            shell_form(range.end()),
        )?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string does not fail");
        hex
    })
}

/// Bytes in the form of the HBase shell (`Bytes.toStringBinary`), also valid in a double-quoted
/// Ruby string: characters with another meaning there are escaped, too.
fn shell_form(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut form, &byte| {
        if byte.is_ascii_graphic() && !br#""\#"#.contains(&byte) {
            form.push(char::from(byte));
        } else {
            write!(form, "\\x{byte:02X}").expect("writing to a string does not fail");
        }
        form
    })
}

/// Parses hex digits, or the shell's form.
fn parse_bytes(text: &str) -> anyhow::Result<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.len() == 2 * simhash::ROW_KEY_LEN && digits.iter().all(u8::is_ascii_hexdigit) {
        return digits.chunks(2).map(parse_hex_byte).collect();
    }
    let mut bytes = Vec::new();
    let mut rest = digits;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'\\' && rest.first() == Some(&b'x') {
            let digits = rest
                .get(1..3)
                .with_context(|| format!("\\x without two hex digits at the end of {text:?}"))?;
            bytes.push(parse_hex_byte(digits)?);
            rest = &rest[3..];
        } else if first.is_ascii() {
            bytes.push(first);
        } else {
            bail!("{text:?} is neither 26 hex digits nor a row key as the HBase shell prints it");
        }
    }
    Ok(bytes)
}

fn parse_hex_byte(digits: &[u8]) -> anyhow::Result<u8> {
    let text = str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
    let text =
        text.with_context(|| format!("{:?} are not two hex digits", String::from_utf8_lossy(digits)))?;
    Ok(u8::from_str_radix(text, 16)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_both_forms() {
        for bytes in [
            (0..13).collect::<Vec<u8>>(),
            (60..73).collect(),
            (243..=255).collect(),
            br##"a"\#b'$ {}x\x"##.to_vec(),
        ] {
            assert_eq!(parse_bytes(&shell_form(&bytes)).unwrap(), bytes, "{}", shell_form(&bytes));
            if bytes.len() == simhash::ROW_KEY_LEN {
                assert_eq!(parse_bytes(&hex(&bytes)).unwrap(), bytes);
            }
        }
        // The shell itself prints the quotation mark and the number sign unescaped.
        assert_eq!(parse_bytes(r#"\x00#"Eg\x89"#).unwrap(), b"\0#\"Eg\x89");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [r"\x0", r"\xzz", "é", r"\x+1"] {
            assert!(parse_bytes(text).is_err(), "{text:?}");
        }
    }
}
