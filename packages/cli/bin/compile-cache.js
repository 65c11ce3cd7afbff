const { createHash } = require("node:crypto");
const {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require("node:fs");
const { homedir } = require("node:os");
const { isAbsolute, join } = require("node:path");

const unusedMs = 30 * 24 * 3_600_000;
const hashBytes = 32;

/**
 * V8's code cache of a script, kept between runs. V8 checks it only against the length of the source, so a program that can write the
 * file controls what runs: it is created on this machine, named after the source, in a folder that only the user can write. If that is not
 * possible, or the user's cache folder does not exist, nothing is read or written. V8 crashes on damaged code, as after a power failure,
 * so the file ends with a hash of the code.
 *
 * @param {string | undefined} sourceId Differs for each source; without it, nothing is cached.
 * @param {string} purpose Each purpose has its own cache, because it compiles other functions.
 */
function openCompileCache(sourceId, purpose) {
  const folder = sourceId && cacheFolder();
  const file = join(folder ?? "", `${sourceId}-${process.version}-${process.arch}-${purpose}.v8`);
  return {
    /** @returns {Buffer | undefined} */
    read() {
      try {
        return folder !== undefined && isOwn(lstatSync(folder), "isDirectory") ? withoutHash(readOwn(file)) : undefined;
      } catch {
        return undefined;
      }
    },
    /** Never throws: the command works without it. @param {Buffer} data */
    write(data) {
      const draft = `${file}.${process.pid}`;
      try {
        if (folder === undefined || !makeOwn(folder)) return;
        removeUnused(folder);
        writeFileSync(draft, Buffer.concat([data, hashOf(data)]), { mode: 0o600, flag: "wx" });
        renameSync(draft, file);
      } catch {
        rmSync(draft, { force: true });
      }
    },
  };
}

/** The folder for this program in the user's cache folder; undefined if the user has none. */
function cacheFolder() {
  const { XDG_CACHE_HOME = "", HOME, LOCALAPPDATA = "" } = process.env;
  try {
    const home = HOME || homedir();
    const own = { darwin: join(home, "Library", "Caches"), win32: LOCALAPPDATA }[process.platform];
    const base = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : (own ?? join(home, ".cache"));
    return isAbsolute(base) && statSync(base).isDirectory() ? join(base, "wirescope") : undefined;
  } catch {
    return undefined;
  }
}

/** Makes the folder if it is missing. @returns {boolean} Whether only this user can write to it. */
function makeOwn(folder) {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (error.code !== "EEXIST") return false;
  }
  return isOwn(lstatSync(folder), "isDirectory");
}

function readOwn(file) {
  const fd = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    return isOwn(fstatSync(fd), "isFile") ? readFileSync(fd) : undefined;
  } finally {
    closeSync(fd);
  }
}

/** @param {Buffer} data */
function hashOf(data) {
  return createHash("sha256").update(data).digest();
}

/** The code in a file; undefined if it is damaged. @param {Buffer | undefined} content */
function withoutHash(content) {
  const data = content?.subarray(0, -hashBytes);
  return data && hashOf(data).equals(content.subarray(-hashBytes)) ? data : undefined;
}

/** Whether a path is of this kind, belongs to this user, and cannot be written by others. Windows has neither owner nor mode. */
function isOwn(stats, kind) {
  if (!stats[kind]()) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0);
}

function removeUnused(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (/\.v8(\.\d+)?$/.test(name) && Date.now() - statSync(path).mtimeMs > unusedMs) rmSync(path, { force: true });
  }
}

module.exports = { openCompileCache };
