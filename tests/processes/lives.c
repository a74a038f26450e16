/* The processes and what befalls them. A process kills itself at a random change of a file; its parent, who hears of
 * each such moment and of each call that met a lock, kills one or all of them some instructions after a random one, or
 * stops one while the others' time goes on: its lease is over when it wakes up. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../unit/shim_vfs.h"
#include "../unit/sql_db.h"
#include "chance.h"
#include "processes.h"
#include "sink/target.h"

enum { ROLES_MAX = 16, MOMENTS_OF_A_LIFE = 150, MOMENTS_BETWEEN = 600, INSTRUCTIONS = 300000 };

static struct {
  const struct role *roles;
  int nroles;
  unsigned seed;
  int *steps_done; /* of each role, in shared memory */
  struct {
    pid_t process; /* 0: its work is done */
    int life;
    bool doomed; /* was sent a SIGKILL */
  } workers[ROLES_MAX];
  int stopped; /* a role, or -1 */
  struct fates fates;
} lives;

/* ---- one life ---- */

void show_time(void) {
  if (shim.real == NULL)
    shim_register();
  shim.now_ms = __atomic_load_n(&shared->clock_ms, __ATOMIC_RELAXED);
}

static long moments_left; /* until this process dies; 0: it does not */

static void pass_moment(void) {
  tell_moment();
  __atomic_add_fetch(&shared->moments, 1, __ATOMIC_RELAXED);
  shim.now_ms = __atomic_add_fetch(&shared->clock_ms, 1, __ATOMIC_RELAXED);
  if (moments_left > 0 && --moments_left == 0)
    kill(getpid(), SIGKILL);
}

static void on_change(enum shim_call call, const char *path, int64_t offset, int size) {
  (void)call, (void)path, (void)offset, (void)size;
  pass_moment();
}

static void on_target_step(const char *step) {
  (void)step;
  pass_moment();
}

/* Waits by turns and not by time, and tells of it: who holds the lock may be the one that was stopped. */
static int on_busy(void *most, int tries) {
  if (tries % 64 == 0)
    tell_moment();
  sched_yield();
  return tries < *(const int *)most;
}

static sqlite3 *open_database(void) {
  static const int turns[] = {0, 200, 20000, 20000};
  sqlite3 *db = db_open(database_path, "shim");
  sqlite3_busy_handler(db, on_busy, (void *)(uintptr_t)&PICK(turns));
  insist(db, "PRAGMA synchronous = normal");
  return db;
}

static bool anybody_writes(void) {
  return __atomic_load_n(&shared->writing, __ATOMIC_RELAXED) > 0;
}

/* Or for some turns, when all wait. */
static void wait_for(long moments) {
  const long end = __atomic_load_n(&shared->moments, __ATOMIC_RELAXED) + moments;
  for (int turns = 0; turns < 1000 && anybody_writes(); turns++) {
    if (__atomic_load_n(&shared->moments, __ATOMIC_RELAXED) >= end)
      return;
    sched_yield();
  }
}

static bool is_done(int role) {
  const int steps = lives.roles[role].steps;
  return steps > 0 ? lives.steps_done[role] >= steps : !anybody_writes();
}

static void live(int role, int life) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_DFL);
  chance_seed(((uint64_t)lives.seed * ROLES_MAX + (uint64_t)role) * 1000 + (uint64_t)life);
  shim.before = on_change;
  tide_target_dir_step = on_target_step;
  moments_left = one_in(4) ? 0 : 1 + (long)pick(MOMENTS_OF_A_LIFE);
  sqlite3 *db = open_database();
  while (!is_done(role)) {
    wait_for(lives.roles[role].pace);
    show_time();
    lives.roles[role].step(db, lives.roles[role].number);
    lives.steps_done[role]++;
    if (one_in(20)) {
      db_close(db);
      db = open_database();
    }
  }
  moments_left = 0;
  db_close(db);
  _exit(0);
}

static void start(int role) {
  fflush(NULL);
  const pid_t process = fork();
  ck_assert_int_ge(process, 0);
  if (process == 0)
    live(role, lives.workers[role].life);
  lives.workers[role].process = process;
  lives.workers[role].doomed = false;
  lives.workers[role].life++;
}

/* ---- deaths ---- */

static int role_of(pid_t process) {
  for (int role = 0; role < lives.nroles; role++) {
    if (lives.workers[role].process == process)
      return role;
  }
  return -1;
}

static void fail_of(int role, int status) {
  for (int other = 0; other < lives.nroles; other++) {
    if (lives.workers[other].process != 0)
      kill(lives.workers[other].process, SIGKILL);
  }
  fprintf(stderr, "seed %u: role %d ended with status %d in its life %d\n", lives.seed, role, status,
          lives.workers[role].life);
  ck_abort_msg("a process failed");
}

/* Who was killed begins anew, who has ended is done. */
static void reap(void) {
  int status = 0;
  pid_t process;
  while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
    const int role = role_of(process);
    if (role < 0)
      continue;
    lives.workers[role].process = 0;
    if (role == lives.stopped)
      lives.stopped = -1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      lives.fates.killed += lives.workers[role].doomed;
      lives.fates.killed_themselves += !lives.workers[role].doomed;
      start(role);
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fail_of(role, status);
    } else {
      shared->writing -= lives.roles[role].writes;
    }
  }
}

static int count_alive(void) {
  int alive = 0;
  for (int role = 0; role < lives.nroles; role++)
    alive += lives.workers[role].process != 0;
  return alive;
}

/* ---- fates ---- */

static int pick_alive(void) {
  for (int role = (int)pick((size_t)lives.nroles), tries = lives.nroles; tries > 0; tries--) {
    if (lives.workers[role].process != 0)
      return role;
    role = (role + 1) % lives.nroles;
  }
  return -1;
}

static void doom(int role) {
  if (role < 0 || lives.workers[role].process == 0)
    return;
  lives.workers[role].doomed = true;
  kill(lives.workers[role].process, SIGKILL);
}

static void wake(void) {
  if (lives.stopped >= 0)
    kill(lives.workers[lives.stopped].process, SIGCONT);
  lives.stopped = -1;
}

/* Mostly one that ticks: it may have a batch. */
static void stop_one(void) {
  int role = pick_alive();
  for (size_t tries = 6; role >= 0 && lives.roles[role].step != step_tick && tries > 0; tries--)
    role = pick_alive();
  if (role < 0 || lives.stopped >= 0)
    return;
  kill(lives.workers[role].process, SIGSTOP);
  lives.stopped = role;
  lives.fates.stopped++;
}

/* An hour forward or back: every lease is over, or ends in a future that is too far away. */
static void set_clock(void) {
  __atomic_add_fetch(&shared->clock_ms, one_in(2) ? 3600000 : -3600000, __ATOMIC_RELAXED);
}

static void deal_fate(void) {
  for (volatile size_t i = pick(INSTRUCTIONS); i > 0; i--)
    continue;
  if (lives.stopped >= 0 && one_in(3))
    wake();
  switch (pick(10)) {
  case 0:
    for (int role = 0; role < lives.nroles; role++)
      doom(role);
    break;
  case 1:
  case 2:
  case 3:
  case 4:
    stop_one();
    set_clock();
    break;
  case 5:
    set_clock();
    break;
  default:
    doom(pick_alive());
  }
}

/* Hears of so many moments; fewer when the ones that could have told of more are stopped or done. */
static void pass_moments(int read_end, size_t count) {
  char bytes[64];
  while (count > 0 && count_alive() > (lives.stopped >= 0)) {
    const ssize_t got = read(read_end, bytes, count < sizeof bytes ? count : sizeof bytes);
    count -= got > 0 ? (size_t)got : 0;
    reap();
  }
}

static void on_death(int number) {
  (void)number;
  tell_moment();
}

struct fates live_all(const struct role *roles, int nroles, unsigned seed) {
  int ends[2];
  ck_assert_int_le(nroles, ROLES_MAX);
  if (lives.steps_done == NULL)
    lives.steps_done = mmap(NULL, ROLES_MAX * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(lives.steps_done != MAP_FAILED);
  int *steps_done = lives.steps_done;
  memset(steps_done, 0, ROLES_MAX * sizeof(int));
  memset(&lives, 0, sizeof lives);
  lives.roles = roles, lives.nroles = nroles, lives.seed = seed, lives.steps_done = steps_done, lives.stopped = -1;
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  listen_to_moments(ends[1]);
  signal(SIGCHLD, on_death);
  chance_seed(seed);
  for (int role = 0; role < nroles; role++)
    shared->writing += roles[role].writes;
  for (int role = 0; role < nroles; role++)
    start(role);
  while (count_alive() > 0) {
    pass_moments(ends[0], 1 + pick(MOMENTS_BETWEEN));
    if (count_alive() > 0)
      deal_fate();
  }
  signal(SIGCHLD, SIG_DFL);
  listen_to_moments(-1);
  close(ends[0]), close(ends[1]);
  return lives.fates;
}
