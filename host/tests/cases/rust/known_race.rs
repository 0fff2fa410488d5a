//! A race that the authors of a crate know is a note, by the names of its functions; the same one elsewhere is a bug.
//! run: -i 20
//! exit: 0
//! line: race:*crossbeam_deque::deque::Buffer<*>::
//! run: -i 20 --races bug
//! exit: 0
//! line: (built in)
//! run: -i 20 -- mine
//! exit: 2
//! line: data-race
use std::thread;

macro_rules! buffer {
    () => {
        pub struct Buffer<T>(pub *mut T);
        unsafe impl<T> Sync for Buffer<T> {}
        impl<T> Buffer<T> {
            pub unsafe fn write(&self, value: T) {
                unsafe { std::ptr::write_volatile(self.0, value) }
            }
            pub unsafe fn read(&self) -> T {
                unsafe { std::ptr::read_volatile(self.0) }
            }
        }
    };
}

mod crossbeam_deque {
    pub mod deque {
        buffer!();
    }
}

mod mine {
    buffer!();
}

macro_rules! race {
    ($buffer:expr, $value:expr) => {{
        let buffer = $buffer(Box::into_raw(Box::new($value)));
        thread::scope(|scope| {
            scope.spawn(|| unsafe { buffer.write($value) });
            scope.spawn(|| unsafe { buffer.read() });
        });
    }};
}

fn main() {
    match std::env::args().nth(1) {
        None => race!(crossbeam_deque::deque::Buffer, 0_u32),
        // Of another type: functions with the same code are made one.
        Some(_) => race!(mine::Buffer, 0_u8),
    }
}
