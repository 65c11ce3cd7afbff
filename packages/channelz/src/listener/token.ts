import { timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { ChannelzError } from "../errors.js";
import { fileReason } from "./file-reason.js";

/** Whether what a caller presented is the token. Takes the same time whatever it is. */
export type TokenCheck = (presented: string) => boolean;

export interface TokenOptions {
  /** The bearer token that every request must carry. */
  readonly token?: string | undefined;
  /** A file that holds the token; a changed file counts from then on, so tokens rotate without a restart. */
  readonly tokenFile?: string | undefined;
}

/** How long a file that was replaced may go unnoticed while callers still present the old token. */
const recheckMs = 1000;

/** Reads the token's settings; undefined without a token. Throws TOKEN_UNUSABLE if the given value is not a token. */
export function createTokenCheck(options: TokenOptions): TokenCheck | undefined {
  if (options.token !== undefined && options.tokenFile !== undefined) {
    throw new TypeError("Give either token or tokenFile, not both.");
  }
  if (options.tokenFile !== undefined) return checkAgainstFile(options.tokenFile);
  if (options.token === undefined) return undefined;
  if (!isToken(options.token)) {
    throw new ChannelzError(
      "TOKEN_UNUSABLE",
      "The token is empty or has characters that a header cannot carry. Use one word of printable ASCII.",
    );
  }
  return comparison(options.token);
}

function checkAgainstFile(path: string): TokenCheck {
  let version = versionOf(path);
  let matches = comparison(readToken(path));
  let checkedAt = performance.now();

  // A file that is being replaced may be missing or empty for a moment: the last good token holds until there is another.
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
  const defect = token === "" ? "is empty" : "holds more than one word, or other characters than printable ASCII";
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

/** Compares with a token in the same time whatever is presented. To hash both did so too, and took as long as the rest of the guard. */
function comparison(token: string): TokenCheck {
  const expected = Buffer.from(token, "utf8");
  const actual = Buffer.alloc(expected.length);
  return (presented) => {
    actual.fill(0);
    actual.write(presented, "utf8");
    return timingSafeEqual(actual, expected) && presented.length === token.length;
  };
}
