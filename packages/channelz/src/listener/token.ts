import { timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { ChannelzError } from "../errors.js";
import { fileReason } from "./file-reason.js";

/** Whether the presented string is the token. Takes constant time. */
export type TokenCheck = (presented: string) => boolean;

export interface TokenOptions {
  /** The bearer token that every request must send. */
  readonly token?: string | undefined;
  /** A file with the token; it is read again when it changes, so tokens can be rotated without a restart. */
  readonly tokenFile?: string | undefined;
}

/** How long a replaced file may go unnoticed while clients still present the old token. */
const recheckMs = 1000;

/** Creates the check for the configured token; undefined without one. Throws TOKEN_UNUSABLE if it is invalid or unreadable. */
export function createTokenCheck(options: TokenOptions): TokenCheck | undefined {
  if (options.token !== undefined && options.tokenFile !== undefined) {
    throw new TypeError("Set either token or tokenFile, not both.");
  }
  if (options.tokenFile !== undefined) return checkAgainstFile(options.tokenFile);
  if (options.token === undefined) return undefined;
  if (!isToken(options.token)) {
    throw new ChannelzError(
      "TOKEN_UNUSABLE",
      "The token is empty or contains characters other than printable ASCII without spaces.",
    );
  }
  return comparison(options.token);
}

function checkAgainstFile(path: string): TokenCheck {
  let version = versionOf(path);
  let matches = comparison(readToken(path));
  let checkedAt = performance.now();

  // A file that is being replaced may be missing or empty for a moment: the last valid token is used until there is another.
  const refresh = (): void => {
    checkedAt = performance.now();
    try {
      const current = versionOf(path);
      if (current === version) return;
      matches = comparison(readToken(path));
      version = current;
    } catch {}
  };

  return (presented) => {
    if (performance.now() - checkedAt > recheckMs) refresh();
    if (matches(presented)) return true;
    refresh();
    return matches(presented);
  };
}

function versionOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function readToken(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (isToken(token)) return token;
  const defect = token === "" ? "is empty" : "contains spaces, or characters other than printable ASCII";
  throw new ChannelzError(
    "TOKEN_UNUSABLE",
    `The token file ${path} ${defect}. Write one token into it, and nothing else.`,
  );
}

function unreadable(path: string, cause: unknown): ChannelzError {
  return new ChannelzError(
    "TOKEN_UNUSABLE",
    `The token file ${path} cannot be read: ${fileReason(cause)}. Create it, or let this process read it.`,
    { cause },
  );
}

function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Compares with a token in constant time. Comparing hashes is constant-time too, but took as long as the rest of the guard. */
function comparison(token: string): TokenCheck {
  const expected = Buffer.from(token, "utf8");
  const actual = Buffer.alloc(expected.length);
  return (presented) => {
    actual.fill(0);
    actual.write(presented, "utf8");
    return timingSafeEqual(actual, expected) && presented.length === token.length;
  };
}
