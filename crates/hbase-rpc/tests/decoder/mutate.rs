//! Changes of lengths, counts and types in an answer.

use bytes::BufMut;
use hbase_rpc::fake::messages::{CellBlockMeta, ResponseHeader};
use prost::Message;

/// A random generator: the same numbers for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }

    fn number(&mut self, near: u64) -> u64 {
        match self.below(9) {
            0 => 0,
            1 => 1,
            2 => near.wrapping_add(1),
            3 => near.wrapping_sub(1),
            4 => near.wrapping_mul(2),
            5 => i32::MAX as u64,
            6 => u32::MAX.into(),
            7 => u64::MAX,
            _ => self.next() % 1_000,
        }
    }
}

/// Returns the frame with one to three changes. The length before it is right, but for one in
/// forty.
pub(crate) fn mutated(random: &mut Random, frame: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
    let Some((mut header, mut message, mut block)) = parts(frame) else { return frame.to_vec() };
    let mut n_block = block.len() as u64;
    for _ in 0..1 + random.below(3) {
        match random.below(10) {
            0 => n_block = random.number(n_block),
            1 => header.exception = Some(hbase_rpc::fake::messages::ExceptionResponse::default()),
            2 => header.call_id = [None, Some(7), Some(u32::MAX)][random.below(3)],
            3 | 4 => {
                block = changed_cells(random, block);
                n_block = block.len() as u64;
            }
            5 => {
                // The message or the cells of another answer.
                let other = random.below(seeds.len());
                if let Some((_, other_message, other_block)) = parts(&seeds[other]) {
                    if random.below(2) == 0 {
                        message = other_message;
                    } else {
                        n_block = other_block.len() as u64;
                        block = other_block;
                    }
                }
            }
            _ => message = changed_message(random, &message, 0),
        }
    }
    header.cells = (n_block > 0).then_some(CellBlockMeta { length: Some(n_block as u32) });
    let mut body = header.encode_length_delimited_to_vec();
    let n_message = match random.below(20) {
        0 => random.number(message.len() as u64) as usize,
        _ => message.len(),
    };
    let _ = prost::encode_length_delimiter(n_message, &mut body);
    body.put_slice(&message);
    body.put_slice(&block);
    if random.below(10) == 0 {
        body.truncate(random.below(body.len()));
    }
    let len = match random.below(40) {
        0 => random.number(body.len() as u64) as u32,
        _ => body.len() as u32,
    };
    [&len.to_be_bytes()[..], &body].concat()
}

fn parts(frame: &[u8]) -> Option<(ResponseHeader, Vec<u8>, Vec<u8>)> {
    let mut rest = frame.get(4..)?;
    let header = ResponseHeader::decode_length_delimited(&mut rest).ok()?;
    if header.exception.is_some() {
        return Some((header, Vec::new(), Vec::new()));
    }
    let len = prost::decode_length_delimiter(&mut rest).ok()?;
    let (message, block) = rest.split_at_checked(len)?;
    Some((header, message.to_vec(), block.to_vec()))
}

/// A field of a message: number, kind and value.
struct Field {
    tag: u64,
    kind: u64,
    value: u64,
    bytes: Vec<u8>,
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, later) = rest.split_first()?;
        *rest = later;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn fields(mut rest: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let (tag, kind) = (key >> 3, key & 7);
        let (value, bytes) = match kind {
            0 => (varint(&mut rest)?, Vec::new()),
            2 => {
                let len = varint(&mut rest)?;
                let (bytes, later) = rest.split_at_checked(usize::try_from(len).ok()?)?;
                rest = later;
                (len, bytes.to_vec())
            }
            _ => return None,
        };
        fields.push(Field { tag, kind, value, bytes });
    }
    (!fields.is_empty()).then_some(fields)
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Descends into messages within the message, and changes one field.
fn changed_message(random: &mut Random, message: &[u8], depth: usize) -> Vec<u8> {
    let Some(mut fields) = fields(message) else {
        let mut bytes = message.to_vec();
        if !bytes.is_empty() {
            let place = random.below(bytes.len());
            bytes[place] ^= 1 << random.below(8);
        }
        return bytes;
    };
    let place = random.below(fields.len());
    let field = &mut fields[place];
    match random.below(10) {
        0 => field.tag = 1 + random.below(12) as u64,
        1 => field.kind = random.below(8) as u64,
        2 => {
            fields.remove(place);
        }
        3 => {
            let copies = 1 + random.below(40);
            let Field { tag, kind, value, ref bytes } = fields[place];
            let bytes = bytes.clone();
            for _ in 0..copies {
                fields.insert(place, Field { tag, kind, value, bytes: bytes.clone() });
            }
        }
        4 | 5 => field.value = random.number(field.value),
        _ if field.kind == 2 && depth < 5 => {
            field.bytes = changed_message(random, &field.bytes, depth + 1);
            field.value = field.bytes.len() as u64;
        }
        _ => field.value = random.number(field.value),
    }
    let mut bytes = Vec::new();
    for field in fields {
        put_varint(&mut bytes, field.tag << 3 | field.kind);
        put_varint(&mut bytes, field.value);
        bytes.put_slice(&field.bytes);
    }
    bytes
}

/// Changes a length or the type of one cell, leaves a cell out, or doubles one.
fn changed_cells(random: &mut Random, mut block: Vec<u8>) -> Vec<u8> {
    let mut starts = Vec::new();
    let mut place = 0;
    while let Some(len) = block.get(place..place + 4).and_then(|len| len.try_into().ok()) {
        starts.push(place);
        place += 4 + u32::from_be_bytes(len) as usize;
    }
    if starts.is_empty() {
        return [0, 0, 0, 9].repeat(1 + random.below(4));
    }
    let start = starts[random.below(starts.len())];
    let len = u32::from_be_bytes(block[start..start + 4].try_into().expect("four bytes")) as usize;
    let end = (start + 4 + len).min(block.len());
    match random.below(6) {
        // The length of the cell, of its key, or of its value.
        0 | 1 => {
            let place = start + 4 * random.below(3);
            if let Some(bytes) = block.get_mut(place..place + 4) {
                let old = u32::from_be_bytes((&*bytes).try_into().expect("four bytes"));
                bytes.copy_from_slice(&(random.number(old.into()) as u32).to_be_bytes());
            }
        }
        // A byte of the row's length, or one of the bytes that follow.
        2 => {
            let place = start + 12 + random.below(16);
            if let Some(byte) = block.get_mut(place) {
                *byte = random.number((*byte).into()) as u8;
            }
        }
        3 => {
            block.drain(start..end);
        }
        4 => {
            let twice = block[start..end].to_vec();
            block.splice(start..start, twice);
        }
        _ => block.truncate(random.below(block.len())),
    }
    block
}
