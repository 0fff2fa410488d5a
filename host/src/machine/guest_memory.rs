//! The host's only access to guest memory. It records every access, for the list of changed chunks, for
//! owners, and for the step's footprint.

use coyote_abi::rt::CHUNK;
use coyote_strategies::{Access, Class, Effect};

/// Guest memory during one host call.
pub struct GuestMemory<'a> {
    bytes: &'a mut [u8],
    /// Chunks that the host wrote since this list was last collected.
    written: &'a mut Vec<u32>,
    /// The accesses of the call.
    touched: Vec<Access>,
}

/// The range does not lie within guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds;

impl<'a> GuestMemory<'a> {
    pub fn new(bytes: &'a mut [u8], written: &'a mut Vec<u32>) -> GuestMemory<'a> {
        GuestMemory { bytes, written, touched: Vec::new() }
    }

    /// The accesses so far.
    pub fn into_touched(self) -> Vec<Access> {
        self.touched
    }

    fn touch(&mut self, effect: Effect, address: u32, size: u32) {
        if size > 0 {
            self.touched.push(Access { class: Class::Memory, effect, object: address.into(), size });
        }
    }

    /// Checks that the range lies within guest memory. This is not an access.
    pub fn check(&self, address: u32, length: u32) -> Result<(), OutOfBounds> {
        let start = address as usize;
        self.bytes.get(start..start + length as usize).map(|_| ()).ok_or(OutOfBounds)
    }

    /// The bytes of a range, for reports: not an access of the worker. `None` outside of guest memory.
    pub fn peek(&self, address: u32, length: u32) -> Option<&[u8]> {
        let start = address as usize;
        self.bytes.get(start..start + length as usize)
    }

    pub fn read(&mut self, address: u32, length: u32) -> Result<&[u8], OutOfBounds> {
        let start = address as usize;
        self.touch(Effect::Read, address, length);
        self.bytes.get(start..start + length as usize).ok_or(OutOfBounds)
    }

    /// Reads a little-endian number of up to 8 bytes.
    pub fn read_number(&mut self, address: u32, bytes: u8) -> Result<u64, OutOfBounds> {
        let mut number = [0; 8];
        number[..bytes as usize].copy_from_slice(self.read(address, u32::from(bytes))?);
        Ok(u64::from_le_bytes(number))
    }

    pub fn read_u32(&mut self, address: u32) -> Result<u32, OutOfBounds> {
        Ok(self.read_number(address, 4)? as u32)
    }

    pub fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), OutOfBounds> {
        let start = address as usize;
        let target = self.bytes.get_mut(start..start + bytes.len()).ok_or(OutOfBounds)?;
        target.copy_from_slice(bytes);
        self.touch(Effect::Write, address, bytes.len() as u32);
        if !bytes.is_empty() {
            self.written.extend((start / CHUNK) as u32..=((start + bytes.len() - 1) / CHUNK) as u32);
        }
        Ok(())
    }
}
