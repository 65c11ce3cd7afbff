import { createHash } from "node:crypto";

/** The maximum length of a name that clients accept, in characters. */
export const maxNameLength = 64;

const hashLength = 10;
const hashed = new RegExp(`_[0-9a-f]{${hashLength}}$`);

/**
 * The name under which a tool or prompt is offered: `server__tool`. It depends on the two names only, so it is stable; it has only
 * letters, digits, `_` and `-`, at most 64 of them; and it is unique. A name that does not fit these rules ends with a hash of
 * both. Unprefixed, it is the server's own name, and two servers may share it.
 */
export function exposedName(server: string, name: string, isUnprefixed = false): string {
  if (isUnprefixed && name.length <= maxNameLength && /^[A-Za-z0-9_-]+$/.test(name)) return name;
  const plain = `${server}__${name}`;
  return isPlain(server, name, plain) ? plain : hashedName(server, name);
}

/** The prefix of the names of all tools and prompts of a server. */
export function exposedPrefix(server: string): string {
  return `${cleaned(server)}__`;
}

/**
 * If the server's name has no `__` and does not end with `_`, the first `__` marks its end, so no other pair has the same name. A
 * name that looks as if it ended with a hash could collide with a hashed one.
 */
function isPlain(server: string, name: string, plain: string): boolean {
  return (
    plain.length <= maxNameLength &&
    /^[A-Za-z0-9_-]+$/.test(plain) &&
    server !== "" &&
    name !== "" &&
    !server.includes("__") &&
    !server.endsWith("_") &&
    !hashed.test(plain)
  );
}

function hashedName(server: string, name: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, name]))
    .digest("hex")
    .slice(0, hashLength);
  const readable = `${exposedPrefix(server)}${cleaned(name)}`.slice(0, maxNameLength - hashLength - 1);
  return `${readable}_${hash}`;
}

function cleaned(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_");
}
