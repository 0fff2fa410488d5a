;; What is more than the address space is refused before anything is added: a sum could wrap around.
(module
  (memory 1 3)
  (func $grow (param i32) (result i32)
    (memory.grow (local.get 0)))
  (func $size (result i32)
    (memory.size)))
