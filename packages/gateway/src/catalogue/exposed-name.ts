import { createHash } from "node:crypto";

/** The longest name that clients take, in characters. */
export const longestName = 64;

const hashLength = 10;
const hashed = new RegExp(`_[0-9a-f]{${hashLength}}$`);

/**
 * The name by which a tool or prompt of a server is offered: `server__tool`. It depends on the two names alone, so it stays
 * whatever else is offered; has only letters, digits, `_` and `-`, and at most 64 of them; and no two are the same. Where a
 * name cannot stand as it is, it ends with a hash of both. Unprefixed, it is the name alone, and two servers may have one.
 */
export function exposedName(server: string, name: string, isUnprefixed = false): string {
  if (isUnprefixed && name.length <= longestName && /^[A-Za-z0-9_-]+$/.test(name)) return name;
  const plain = `${server}__${name}`;
  return isPlain(server, name, plain) ? plain : hashedName(server, name);
}

/** What the names of all that a server offers begin with. */
export function exposedPrefix(server: string): string {
  return `${cleaned(server)}__`;
}

/**
 * Where the server's name has no `__` and does not end with `_`, the first `__` of the whole tells where it ends, so that no
 * other pair has the same name. One that looks as if it ended with a hash may be another's that does.
 */
function isPlain(server: string, name: string, plain: string): boolean {
  return (
    plain.length <= longestName &&
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
  const readable = `${exposedPrefix(server)}${cleaned(name)}`.slice(0, longestName - hashLength - 1);
  return `${readable}_${hash}`;
}

function cleaned(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_");
}
