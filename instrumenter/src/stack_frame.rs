//! The frame of a function in the shadow stack: its size, and where in the function's code it exists.

/// The frame of a function in the shadow stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// Its size in bytes.
    pub bytes: u32,
    /// Whether its address leaves the function: see [`crate::analysis::escape`].
    pub escapes: bool,
    /// Whether the function keeps data below the stack pointer instead of moving it, which those do that call no others
    /// (LLVM's red zone).
    pub red_zone: bool,
    /// Of such a function: how far below the stack pointer its data begin, if that is known.
    pub red_zone_bytes: Option<u32>,
    /// Offset of the instruction that creates it. `None` if the function has no frame.
    pub begin: Option<u32>,
    /// Offsets of the instructions that end it, each with the last one of its sequence.
    pub ends: Vec<(u32, u32)>,
}

impl StackFrame {
    /// The frame's size at an instruction of the function; 0 before the frame exists. `None` if the frame has ended
    /// there.
    pub fn bytes_at(&self, offset: u32) -> Option<u32> {
        match self.begin {
            Some(begin) if offset > begin => {
                let ended = self.ends.iter().any(|(end, last)| (*end..=*last).contains(&offset));
                (!ended).then_some(self.bytes)
            }
            _ => Some(0),
        }
    }
}
