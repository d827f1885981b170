#include "tools/write_guard/place.h"

#include <cstring>
#include <initializer_list>

#include "tools/write_guard/generation.h"
#include "tools/write_guard/known_folders.h"
#include "tools/write_guard/system_calls.h"

namespace tundish::guard {
namespace {

constexpr int kMaxLinks = 40;  // as in Linux

bool is_free(const char* path) {
  const Settings& all = settings();
  if (is_below(path, all.folder)) return true;
  for (const char* folder : {"/dev", "/proc", "/sys"}) {
    if (is_below(path, folder)) return true;
  }
  for (int i = 0; i < all.allowed_count; ++i) {
    if (is_below(path, all.allowed[i])) return true;
  }
  return false;
}

bool is_stand_in(const struct stat& about) {
  if ((about.st_mode & S_ISVTX) == 0) return false;
  return S_ISDIR(about.st_mode) || (S_ISREG(about.st_mode) && about.st_size == 0);
}

// Goes along a path part by part, because links may lead from the user's files to the trial's and
// back, which the kernel cannot know.
class Walk {
 public:
  Walk(Place& out, Purpose purpose) : out_(out), purpose_(purpose) {}

  bool start(int folder, const char* path, Last last) {
    last_ = last;
    const std::size_t size = std::strlen(path);
    if (size >= PATH_MAX) return fail(ENAMETOOLONG);
    std::memcpy(rest_, path, size + 1);
    if (path[0] == '/') return put_before("") && (use_known() || reset());
    char base[PATH_MAX];
    if (folder == AT_FDCWD) {
      if (::syscall(SYS_getcwd, base, sizeof base) < 0) return false;
    } else if (!path_of(folder, base)) {
      return fail(EBADF);
    }
    if (!put_before(base, std::strcmp(base, "/") == 0 ? 0 : std::strlen(base))) return false;
    return use_known() || reset();
  }

  bool go() {
    while (next_part()) {
      if (!enter()) return false;
      if (out_.free) return true;
    }
    if (failed_) return false;
    if (out_.path[0] == '\0') std::strcpy(out_.path, "/");
    // The user's file by its own path: what it is does not matter to a function that reads.
    const bool plain = out_.own == Own::nothing && !out_.hidden && !out_.slash;
    return (purpose_ == Purpose::read && plain) || look_at_user();
  }

 private:
  // Begins again at the root with HEAD/REST. The first `trusted` characters contain no links.
  bool restart(const char* head, std::size_t trusted = 0) {
    return put_before(head, trusted) && reset();
  }

  bool put_before(const char* head, std::size_t trusted = 0) {
    const std::size_t size = std::strlen(head);
    const std::size_t more = std::strlen(rest_);
    if (size + more + 2 > sizeof rest_) return fail(ENAMETOOLONG);
    // A slash at the end would require a folder.
    const bool separated = more > 0 && size > 0 && rest_[0] != '/';
    std::memmove(rest_ + size + (separated ? 1 : 0), rest_, more + 1);
    std::memcpy(rest_, head, size);
    if (separated) rest_[size] = '/';
    at_ = rest_;
    trusted_ = rest_ + trusted;
    return true;
  }

  bool reset() {
    out_.path[0] = '\0';
    out_.own = Own::folder;
    out_.hidden = false;
    own_alive_ = is_there(settings().files);
    marks_alive_ = is_there(settings().removed);
    missing_ = false;
    return true;
  }

  // Begins at the last part if the folder above it is known.
  bool use_known() {
    const char* last = std::strrchr(rest_, '/');
    const std::size_t size = last != nullptr ? static_cast<std::size_t>(last - rest_) : 0;
    if (size == 0 || size >= kLongestKnown || last[1] == '\0' || last[1] == '.') return false;
    if (!recall(rest_, size, known_)) {
      known_.generation = generation();
      std::memcpy(known_.text, rest_, size);
      known_.text[size] = '\0';
      remembers_ = known_.generation != kUnknown;
      return false;
    }
    std::strcpy(out_.path, known_.path);
    own_alive_ = known_.own_alive;
    marks_alive_ = known_.marks_alive;
    out_.hidden = known_.hidden;
    out_.mapped = known_.mapped;
    out_.own = Own::folder;
    at_ = last;
    return true;
  }

  // Before the last part is entered for the first time.
  void remember_folder() {
    remembers_ = false;
    if (std::strlen(out_.path) >= kLongestKnown) return;
    std::strcpy(known_.path, out_.path);
    known_.own_alive = own_alive_;
    known_.marks_alive = marks_alive_;
    known_.hidden = out_.hidden;
    known_.mapped = out_.mapped;
    remember(known_);
  }

  // Reads the next part: part_, size_, and whether more parts follow.
  bool next_part() {
    while (*at_ == '/') ++at_;
    if (*at_ == '\0') return false;
    if (missing_ || out_.own == Own::file) {
      errno = missing_ ? ENOENT : ENOTDIR;
      failed_ = true;
      return false;
    }
    part_ = at_;
    at_ = std::strchr(at_, '/');
    if (at_ == nullptr) at_ = part_ + std::strlen(part_);
    size_ = static_cast<std::size_t>(at_ - part_);
    out_.slash = *at_ == '/';
    const char* more = at_;
    while (*more == '/') ++more;
    is_last_ = *more == '\0';
    return true;
  }

  bool enter() {
    if (is_last_ && remembers_) remember_folder();
    if (size_ == 1 && part_[0] == '.') {
      out_.slash = true;
      return true;
    }
    if (size_ == 2 && part_[0] == '.' && part_[1] == '.') return leave();
    const std::size_t before = std::strlen(out_.path);
    if (before + size_ + 2 > PATH_MAX) return fail(ENAMETOOLONG);
    out_.path[before] = '/';
    std::memcpy(out_.path + before + 1, part_, size_);
    out_.path[before + 1 + size_] = '\0';
    if (is_free(out_.path)) return end_free();
    if (!look_at_own()) return false;
    return out_.own == Own::link ? follow_own(before) : follow_user(before);
  }

  bool leave() {
    char* last = std::strrchr(out_.path, '/');
    if (last != nullptr) *last = '\0';
    shift_rest(at_);
    char above[PATH_MAX];
    std::strcpy(above, out_.path);
    out_.mapped = true;
    return restart(above, std::strlen(above));
  }

  // The rest is not guarded, unless it is the trial's file by its real name, such as the name of
  // the current folder.
  bool end_free() {
    const std::size_t size = std::strlen(out_.path);
    if (size + std::strlen(at_) + 1 > PATH_MAX) return fail(ENAMETOOLONG);
    std::strcpy(out_.path + size, at_);
    if (!is_below(out_.path, settings().files)) {
      out_.free = true;
      out_.slash = false;  // the path has it
      return true;
    }
    shift_rest(out_.path + std::strlen(settings().files));
    out_.mapped = true;
    return restart("");
  }

  void shift_rest(const char* from) { std::memmove(rest_, from, std::strlen(from) + 1); }

  // Sets own and hidden for the part.
  bool look_at_own() {
    char path[PATH_MAX];
    out_.own = Own::nothing;
    if (own_alive_) {
      if (!join(path, settings().files, out_.path)) return false;
      struct stat about;
      if (read_status(path, about)) {
        out_.own = is_stand_in(about)       ? Own::stand_in
                   : S_ISDIR(about.st_mode) ? Own::folder
                   : S_ISLNK(about.st_mode) ? Own::link
                                            : Own::file;
      }
      own_alive_ = out_.own == Own::folder;
      out_.mapped |= out_.own != Own::nothing;
    }
    if (marks_alive_) {
      marks_alive_ = join(path, settings().removed, out_.path) && is_there(path);
      if (marks_alive_ && mark_path(out_.path, kRemoved, path)) out_.hidden |= is_there(path);
    }
    missing_ = out_.own == Own::nothing && out_.hidden;
    return true;
  }

  bool follow_own(std::size_t before) {
    char path[PATH_MAX];
    return join(path, settings().files, out_.path) && follow(before, path);
  }

  bool follow_user(std::size_t before) {
    if (at_ <= trusted_ || out_.hidden) return true;
    if (out_.own == Own::file || out_.own == Own::folder) return true;
    return follow(before, out_.path);
  }

  // Replaces a link by its target.
  bool follow(std::size_t before, const char* path) {
    char target[PATH_MAX];
    const long size = read_link(path, target, sizeof target - 1);
    if (size < 0) {
      missing_ = errno == ENOENT;
      return errno != ENOTDIR && errno != ENAMETOOLONG;
    }
    if (is_last_ && !out_.slash && last_ == Last::keep) return true;
    if (++links_ > kMaxLinks) return fail(ELOOP);
    out_.through_link |= is_last_ && out_.slash;
    target[size] = '\0';
    out_.path[before] = '\0';
    shift_rest(at_);
    if (target[0] == '/') return restart(target);
    char above[PATH_MAX];
    if (!join(above, out_.path, target)) return false;
    return restart(above, before);
  }

  bool look_at_user() {
    struct stat about;
    out_.user = 0;
    if (std::strcmp(out_.path, "/") == 0) out_.own = Own::nothing;  // never listed as the trial's
    if (!out_.hidden && (!missing_ || out_.own == Own::stand_in) && read_status(out_.path, about)) {
      out_.user = about.st_mode;
    }
    out_.reached = true;
    if (out_.slash && out_.is_visible() && !is_folder()) return fail(ENOTDIR);
    return true;
  }

  bool is_folder() const {
    if (out_.own == Own::folder) return true;
    return out_.own != Own::file && S_ISDIR(out_.user);
  }

  Place& out_;
  Purpose purpose_;
  KnownFolder known_;
  bool remembers_ = false;  // known_ has a folder that is not known yet
  Last last_ = Last::follow;
  char rest_[2 * PATH_MAX];  // what is still to be walked begins at at_
  const char* at_ = rest_;
  const char* trusted_ = rest_;
  const char* part_ = rest_;
  std::size_t size_ = 0;
  int links_ = 0;
  bool is_last_ = false;
  bool own_alive_ = false;    // the trial has the folder of the next part
  bool marks_alive_ = false;  // something below the current folder is marked
  bool missing_ = false;
  bool failed_ = false;
};

}  // namespace

bool find(int folder, const char* path, Last last, Place& out, Purpose purpose) {
  Walk walk(out, purpose);
  return walk.start(folder, path, last) && walk.go();
}

bool own_path(const Place& place, char (&out)[PATH_MAX]) {
  return join(out, settings().files, place.path);
}

bool mark_path(const char* path, const char* mark, char (&out)[PATH_MAX]) {
  return join(out, settings().removed, path) && join(out, out, mark);
}

bool path_of(int file, char (&out)[PATH_MAX]) {
  if (file < 0) return false;
  char link[64] = "/proc/self/fd/";
  char digits[16];
  int count = 0;
  for (int rest = file; rest > 0 || count == 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  std::size_t at = std::strlen(link);
  while (count > 0) link[at++] = digits[--count];
  link[at] = '\0';
  const long size = read_link(link, out, sizeof out - 1);
  if (size <= 0 || out[0] != '/') return false;
  out[size] = '\0';
  return true;
}

}  // namespace tundish::guard
