//! Error numbers of WASI preview 1.

/// An error number: never 0, which stands for success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub u16);

impl From<Errno> for i32 {
    fn from(error: Errno) -> i32 {
        error.0.into()
    }
}

impl Errno {
    pub const AGAIN: Errno = Errno(6);
    pub const CONNABORTED: Errno = Errno(13);
    pub const CONNREFUSED: Errno = Errno(14);
    pub const CONNRESET: Errno = Errno(15);
    pub const NOTCONN: Errno = Errno(53);
    pub const NOTSOCK: Errno = Errno(57);
    pub const PIPE: Errno = Errno(64);
    pub const BADF: Errno = Errno(8);
    pub const BUSY: Errno = Errno(10);
    pub const EXIST: Errno = Errno(20);
    pub const FBIG: Errno = Errno(22);
    pub const ILSEQ: Errno = Errno(25);
    pub const INVAL: Errno = Errno(28);
    pub const INTR: Errno = Errno(27);
    pub const IO: Errno = Errno(29);
    pub const ISDIR: Errno = Errno(31);
    pub const LOOP: Errno = Errno(32);
    pub const MFILE: Errno = Errno(33);
    pub const NAMETOOLONG: Errno = Errno(37);
    pub const NOENT: Errno = Errno(44);
    pub const NOMEM: Errno = Errno(48);
    pub const NOSPC: Errno = Errno(51);
    pub const NOTDIR: Errno = Errno(54);
    pub const NOTEMPTY: Errno = Errno(55);
    pub const NOTSUP: Errno = Errno(58);
    pub const PERM: Errno = Errno(63);
    pub const SPIPE: Errno = Errno(70);
    pub const XDEV: Errno = Errno(75);

    /// The name in C, of the numbers that have a constant here.
    pub fn name(self) -> String {
        let name = match self {
            Errno::AGAIN => "AGAIN",
            Errno::CONNABORTED => "CONNABORTED",
            Errno::CONNREFUSED => "CONNREFUSED",
            Errno::CONNRESET => "CONNRESET",
            Errno::NOTCONN => "NOTCONN",
            Errno::NOTSOCK => "NOTSOCK",
            Errno::PIPE => "PIPE",
            Errno::BADF => "BADF",
            Errno::BUSY => "BUSY",
            Errno::EXIST => "EXIST",
            Errno::FBIG => "FBIG",
            Errno::ILSEQ => "ILSEQ",
            Errno::INVAL => "INVAL",
            Errno::INTR => "INTR",
            Errno::IO => "IO",
            Errno::ISDIR => "ISDIR",
            Errno::LOOP => "LOOP",
            Errno::MFILE => "MFILE",
            Errno::NAMETOOLONG => "NAMETOOLONG",
            Errno::NOENT => "NOENT",
            Errno::NOMEM => "NOMEM",
            Errno::NOSPC => "NOSPC",
            Errno::NOTDIR => "NOTDIR",
            Errno::NOTEMPTY => "NOTEMPTY",
            Errno::NOTSUP => "NOTSUP",
            Errno::PERM => "PERM",
            Errno::SPIPE => "SPIPE",
            Errno::XDEV => "XDEV",
            Errno(number) => return format!("error {number}"),
        };
        format!("E{name}")
    }
}
