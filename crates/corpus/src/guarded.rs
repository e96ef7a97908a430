//! A reader that may panic. Records read before are kept, and the rest of the source is one record
//! with the reason.

use super::internal_error::caught;
use super::reader::RecordReader;
use super::records::{RecordError, Records};

pub(super) struct Guarded {
    /// `None` after a panic: the reader's further output is not to be trusted.
    reader: Option<Box<dyn RecordReader>>,
    /// Number of the last record.
    number: u64,
}

impl Guarded {
    pub(super) fn new(reader: Box<dyn RecordReader>) -> Self {
        Self { reader: Some(reader), number: 0 }
    }

    /// Returns the next records, in order; `None` at the end.
    pub(super) fn next_records(&mut self) -> Option<Records> {
        let reader = self.reader.as_mut()?;
        let mut records = Records::new(reader.form());
        let append = || {
            reader.append_records(&mut records);
            records.check();
        };
        if let Err(why) = caught(append) {
            self.reader = None;
            records.drop_unsound();
            let number = records.last_number().unwrap_or(self.number) + 1;
            records.push_error(number, RecordError::Broken(why));
        }
        self.number = records.last_number()?;
        Some(records)
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::Form;
    use super::*;

    /// Gives two portions, and panics in the middle of the second one.
    struct Faulty(u64);

    impl RecordReader for Faulty {
        fn form(&self) -> Form {
            Form::Json
        }

        fn append_records(&mut self, records: &mut Records) {
            for _ in 0..2 {
                self.0 += 1;
                records.bytes_mut().extend_from_slice(b"{}");
                assert!(self.0 < 4, "a fault in the fourth record");
                records.push(self.0);
            }
        }
    }

    /// Takes a byte of a finished record away, as the reader of WARC did at the end of a file.
    struct Greedy;

    impl RecordReader for Greedy {
        fn form(&self) -> Form {
            Form::Json
        }

        fn append_records(&mut self, records: &mut Records) {
            for number in 1..=2 {
                records.bytes_mut().extend_from_slice(b"{}");
                records.push(number);
            }
            records.bytes_mut().pop();
        }
    }

    #[test]
    fn a_record_whose_bytes_are_gone_is_none() {
        let mut reader = Guarded::new(Box::new(Greedy));
        let records = reader.next_records().unwrap();
        let read: Vec<_> = records.iter().map(|(number, record)| (number, record.is_ok())).collect();
        assert_eq!(read, [(1, true), (2, false)]);
        assert!(reader.next_records().is_none());
    }

    /// A panic in a reader once ended the program with 101, and lost the records already read in
    /// the portion.
    #[test]
    fn what_was_read_before_a_panic_is_kept() {
        let mut reader = Guarded::new(Box::new(Faulty(0)));
        let mut read = Vec::new();
        while let Some(records) = reader.next_records() {
            read.extend(
                records.iter().map(|(number, record)| (number, record.map(|_| ()).map_err(Clone::clone))),
            );
        }
        let [(1, Ok(())), (2, Ok(())), (3, Ok(())), (4, Err(RecordError::Broken(why)))] = &read[..] else {
            panic!("{read:?}")
        };
        assert!(why.contains("internal error") && why.contains("a fault in the fourth record"), "{why}");
    }
}
