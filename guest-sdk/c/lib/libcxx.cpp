// The part of libc++'s library that one built without threads lacks: see include/c++/__config_site. Based on
// pthread.h, with the interface that its headers declare.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <coyote_shim.h>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <errno.h>
#include <time.h>

// Words of a pthread_mutex_t that pthread.h does not use. They say what the mutex is a part of, and which thread holds
// that alone, plus 1: 0 if none does, or if it was taken by a template in a header, which does not know of this.
enum { ROLE = 1, OWNER };
// The first member of a std::shared_mutex, or of a std::shared_timed_mutex.
enum { SHARED = 0x54a2ed, SHARED_TIMED };

extern "C" {
[[noreturn]] void __coyote_bug(const char *what);

// Memory accesses of functions with such names are no scheduling points.
__attribute__((noinline)) void __coyote_set_word(pthread_mutex_t *mutex, int word, int value) {
  mutex->__u.__i[word] = value;
}

__attribute__((noinline)) int __coyote_get_word(const pthread_mutex_t *mutex, int word) {
  return mutex->__u.__i[word];
}

__attribute__((noinline)) void __coyote_set_state(std::__shared_mutex_base *mutex, unsigned state) {
  mutex->__state_ = state;
}

__attribute__((noinline)) unsigned __coyote_get_state(const std::__shared_mutex_base *mutex) {
  return mutex->__state_;
}
}

_LIBCPP_BEGIN_NAMESPACE_STD

static void check(int error, const char *what) {
  if (error) {
    __coyote_bug(what);
  }
}

// The running thread in an OWNER.
static int self() {
  return (int)coyote_raw_current() + 1;
}

// For an unlock: whether another thread is known to hold it.
static bool is_foreign(mutex &part) {
  int owner = __coyote_get_word(part.native_handle(), OWNER);
  return owner != 0 && owner != self();
}

// ---- Mutexes ----

void mutex::lock() {
  check(__libcpp_mutex_lock(&__m_), "std::mutex::lock failed");
}

bool mutex::try_lock() noexcept {
  return __libcpp_mutex_trylock(&__m_);
}

void mutex::unlock() noexcept {
  check(__libcpp_mutex_unlock(&__m_), "std::mutex::unlock failed");
}

// Of a std::shared_mutex and a std::shared_timed_mutex, this is all in this library that their destructors call.
mutex::~mutex() noexcept {
  int role = __coyote_get_word(&__m_, ROLE);
  if (role == SHARED) {
    coyote_raw_rwlock_destroy(COYOTE_ADDRESS(this));
  } else if (role == SHARED_TIMED && __coyote_get_state(reinterpret_cast<__shared_mutex_base *>(this)) != 0) {
    __coyote_bug("a std::shared_timed_mutex is destroyed that a thread holds");
  }
  __libcpp_mutex_destroy(&__m_);
}

recursive_mutex::recursive_mutex() {
  check(__libcpp_recursive_mutex_init(&__m_), "std::recursive_mutex cannot be made");
}

recursive_mutex::~recursive_mutex() {
  __libcpp_recursive_mutex_destroy(&__m_);
}

void recursive_mutex::lock() {
  check(__libcpp_recursive_mutex_lock(&__m_), "std::recursive_mutex::lock failed");
}

void recursive_mutex::unlock() noexcept {
  check(__libcpp_recursive_mutex_unlock(&__m_),
        "std::recursive_mutex::unlock: the caller does not hold it");
}

bool recursive_mutex::try_lock() noexcept {
  return __libcpp_recursive_mutex_trylock(&__m_);
}

timed_mutex::timed_mutex() : __locked_(false) {}

timed_mutex::~timed_mutex() {
  lock_guard<mutex> guard(__m_);
  check(__locked_, "a std::timed_mutex is destroyed that a thread holds");
}

void timed_mutex::lock() {
  unique_lock<mutex> guard(__m_);
  while (__locked_) {
    __cv_.wait(guard);
  }
  __locked_ = true;
  __coyote_set_word(__m_.native_handle(), OWNER, self());
}

bool timed_mutex::try_lock() noexcept {
  unique_lock<mutex> guard(__m_, try_to_lock);
  if (!guard.owns_lock() || __locked_) {
    return false;
  }
  __locked_ = true;
  __coyote_set_word(__m_.native_handle(), OWNER, self());
  return true;
}

void timed_mutex::unlock() noexcept {
  lock_guard<mutex> guard(__m_);
  check(!__locked_, "std::timed_mutex::unlock: no thread holds it");
  check(is_foreign(__m_), "std::timed_mutex::unlock: another thread holds it");
  __coyote_set_word(__m_.native_handle(), OWNER, 0);
  __locked_ = false;
  __cv_.notify_one();
}

recursive_timed_mutex::recursive_timed_mutex() : __count_(0), __id_{} {}

recursive_timed_mutex::~recursive_timed_mutex() {
  lock_guard<mutex> guard(__m_);
  check(__count_ != 0, "a std::recursive_timed_mutex is destroyed that a thread holds");
}

void recursive_timed_mutex::lock() {
  __thread_id self = this_thread::get_id();
  unique_lock<mutex> guard(__m_);
  while (__count_ != 0 && self != __id_) {
    __cv_.wait(guard);
  }
  __count_++;
  __id_ = self;
}

bool recursive_timed_mutex::try_lock() noexcept {
  __thread_id self = this_thread::get_id();
  unique_lock<mutex> guard(__m_, try_to_lock);
  if (!guard.owns_lock() || (__count_ != 0 && self != __id_)) {
    return false;
  }
  __count_++;
  __id_ = self;
  return true;
}

void recursive_timed_mutex::unlock() noexcept {
  unique_lock<mutex> guard(__m_);
  check(__count_ == 0 || __id_ != this_thread::get_id(),
        "std::recursive_timed_mutex::unlock: the caller does not hold it");
  if (--__count_ == 0) {
    __id_ = __thread_id();
    guard.unlock();
    __cv_.notify_one();
  }
}

// std::shared_mutex is the tool's rwlock, identified by its address. Its state is the thread that holds it alone, as in
// an OWNER.

__shared_mutex_base::__shared_mutex_base() : __state_(0) {
  __coyote_set_word(__mut_.native_handle(), ROLE, SHARED);
}

void __shared_mutex_base::lock() {
  check((int)coyote_raw_rwlock_write(COYOTE_ADDRESS(this), COYOTE_NO_TIMEOUT),
        "std::shared_mutex::lock: the caller has it already");
  __coyote_set_state(this, (unsigned)self());
}

bool __shared_mutex_base::try_lock() {
  bool locked = coyote_raw_rwlock_try_write(COYOTE_ADDRESS(this)) == 0;
  if (locked) {
    __coyote_set_state(this, (unsigned)self());
  }
  return locked;
}

void __shared_mutex_base::unlock() {
  check(__coyote_get_state(this) != (unsigned)self(), "std::shared_mutex::unlock: the caller does not hold it alone");
  __coyote_set_state(this, 0);
  coyote_raw_rwlock_unlock(COYOTE_ADDRESS(this));
}

void __shared_mutex_base::lock_shared() {
  check((int)coyote_raw_rwlock_read(COYOTE_ADDRESS(this), COYOTE_NO_TIMEOUT),
        "std::shared_mutex::lock_shared: the caller has it already");
}

bool __shared_mutex_base::try_lock_shared() {
  return coyote_raw_rwlock_try_read(COYOTE_ADDRESS(this)) == 0;
}

void __shared_mutex_base::unlock_shared() {
  check(__coyote_get_state(this) == (unsigned)self(), "std::shared_mutex::unlock_shared: the caller holds it alone");
  coyote_raw_rwlock_unlock(COYOTE_ADDRESS(this));
}

// std::shared_timed_mutex has its state in the object, where the templates of its timed functions look for
// it: a writer enters through the first gate, and waits at the second one until the readers have left.

shared_timed_mutex::shared_timed_mutex() : __base_() {
  __coyote_set_word(__base_.__mut_.native_handle(), ROLE, SHARED_TIMED);
}

void shared_timed_mutex::lock() {
  unique_lock<mutex> guard(__base_.__mut_);
  while (__base_.__state_ & __base_.__write_entered_) {
    __base_.__gate1_.wait(guard);
  }
  __base_.__state_ |= __base_.__write_entered_;
  while (__base_.__state_ & __base_.__n_readers_) {
    __base_.__gate2_.wait(guard);
  }
  __coyote_set_word(__base_.__mut_.native_handle(), OWNER, self());
}

bool shared_timed_mutex::try_lock() {
  unique_lock<mutex> guard(__base_.__mut_);
  if (__base_.__state_ != 0) {
    return false;
  }
  __base_.__state_ = __base_.__write_entered_;
  __coyote_set_word(__base_.__mut_.native_handle(), OWNER, self());
  return true;
}

void shared_timed_mutex::unlock() {
  lock_guard<mutex> guard(__base_.__mut_);
  check(__base_.__state_ != __base_.__write_entered_, "std::shared_timed_mutex::unlock: no thread holds it alone");
  check(is_foreign(__base_.__mut_), "std::shared_timed_mutex::unlock: another thread holds it");
  __coyote_set_word(__base_.__mut_.native_handle(), OWNER, 0);
  __base_.__state_ = 0;
  __base_.__gate1_.notify_all();
}

void shared_timed_mutex::lock_shared() {
  unique_lock<mutex> guard(__base_.__mut_);
  while (__base_.__state_ >= __base_.__n_readers_) {
    __base_.__gate1_.wait(guard);
  }
  __base_.__state_++;
}

bool shared_timed_mutex::try_lock_shared() {
  unique_lock<mutex> guard(__base_.__mut_);
  if (__base_.__state_ >= __base_.__n_readers_) {
    return false;
  }
  __base_.__state_++;
  return true;
}

void shared_timed_mutex::unlock_shared() {
  lock_guard<mutex> guard(__base_.__mut_);
  check((__base_.__state_ & __base_.__n_readers_) == 0,
        "std::shared_timed_mutex::unlock_shared: no thread reads under it");
  unsigned readers = --__base_.__state_ & __base_.__n_readers_;
  if (__base_.__state_ & __base_.__write_entered_) {
    if (readers == 0) {
      __base_.__gate2_.notify_one();
    }
  } else if (readers == __base_.__n_readers_ - 1) {
    __base_.__gate1_.notify_one();
  }
}

// The locks behind std::atomic_load and the like on a shared_ptr.

static constinit mutex pointer_locks[16];

constexpr __sp_mut::__sp_mut(void *lock) noexcept : __lx_(lock) {}

void __sp_mut::lock() noexcept {
  static_cast<mutex *>(__lx_)->lock();
}

void __sp_mut::unlock() noexcept {
  static_cast<mutex *>(__lx_)->unlock();
}

__sp_mut &__get_sp_mut(const void *pointer) {
  static constinit __sp_mut locks[16] = {
      &pointer_locks[0],  &pointer_locks[1],  &pointer_locks[2],  &pointer_locks[3],
      &pointer_locks[4],  &pointer_locks[5],  &pointer_locks[6],  &pointer_locks[7],
      &pointer_locks[8],  &pointer_locks[9],  &pointer_locks[10], &pointer_locks[11],
      &pointer_locks[12], &pointer_locks[13], &pointer_locks[14], &pointer_locks[15],
  };
  return locks[(uintptr_t)pointer / 8 % 16];
}

// ---- Condition variables ----

condition_variable::~condition_variable() {
  __libcpp_condvar_destroy(&__cv_);
}

void condition_variable::notify_one() noexcept {
  __libcpp_condvar_signal(&__cv_);
}

void condition_variable::notify_all() noexcept {
  __libcpp_condvar_broadcast(&__cv_);
}

void condition_variable::wait(unique_lock<mutex> &guard) noexcept {
  if (!guard.owns_lock()) {
    __coyote_bug("std::condition_variable::wait: the mutex is not locked");
  }
  __libcpp_condvar_wait(&__cv_, guard.mutex()->native_handle());
}

void condition_variable::__do_timed_wait(
    unique_lock<mutex> &guard,
    chrono::time_point<chrono::system_clock, chrono::nanoseconds> until) noexcept {
  if (!guard.owns_lock()) {
    __coyote_bug("std::condition_variable::wait_until: the mutex is not locked");
  }
  long long nanoseconds = until.time_since_epoch().count();
  timespec time = {};
  if (nanoseconds > 0) {
    time.tv_sec = nanoseconds / 1000000000;
    time.tv_nsec = (long)(nanoseconds % 1000000000);
  }
  __libcpp_condvar_timedwait(&__cv_, guard.mutex()->native_handle(), &time);
}

// ---- Once ----

// The mutex has the flag's address: threads that arrive while the function runs wait for its end.
void __call_once(volatile once_flag::_State_type &flag, void *argument, void (*function)(void *)) {
  coyote_raw_mutex_lock(COYOTE_ADDRESS(&flag), COYOTE_NO_TIMEOUT);
  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == once_flag::_Unset) {
    function(argument);
    __atomic_store_n(&flag, once_flag::_Complete, __ATOMIC_RELEASE);
  }
  coyote_raw_mutex_unlock(COYOTE_ADDRESS(&flag));
}

// ---- Threads ----

thread::~thread() {
  if (joinable()) {
    __coyote_bug("a std::thread is destroyed that was neither joined nor detached");
  }
}

void thread::join() {
  if (__libcpp_thread_isnull(&__t_)) {
    __coyote_bug("std::thread::join: the thread is not joinable");
  }
  check(__libcpp_thread_join(&__t_), "std::thread::join: a thread joins itself");
  __t_ = _LIBCPP_NULL_THREAD;
}

void thread::detach() {
  if (__libcpp_thread_isnull(&__t_)) {
    __coyote_bug("std::thread::detach: the thread is not joinable");
  }
  check(__libcpp_thread_detach(&__t_), "std::thread::detach failed");
  __t_ = _LIBCPP_NULL_THREAD;
}

unsigned thread::hardware_concurrency() noexcept {
  return 2;
}

void this_thread::sleep_for(const chrono::nanoseconds &span) {
  if (span > chrono::nanoseconds::zero()) {
    __libcpp_thread_sleep_for(span);
  }
}

_LIBCPP_END_NAMESPACE_STD

#endif
