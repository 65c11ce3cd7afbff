import type { FileFingerprint } from "./fingerprint-entry.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";

const states: Readonly<Record<FileFingerprint["state"], string>> = {
  content: "is a file",
  missing: "does not exist",
  directory: "is a directory, whose files an approval does not cover",
  special: "is no file but a pipe, socket or device",
  unreadable: "cannot be read, so an approval does not last",
  "too-large": "is too large to be read, so an approval does not last",
  "too-many": "more files than are looked at, so an approval does not last",
  variable: "depends on a variable, so an approval does not last",
};

/** A file and what is known of it, for people; safe to print. */
export function describeFile({ field, path, state, sha256 }: FileFingerprint): string {
  const what = path === "" ? quoteUnlessPlain(field) : `${quoteText(path)} of ${quoteUnlessPlain(field)}`;
  return `${what}: ${describeContent({ state, sha256 })}`;
}

/** What is known of a file's content, for people. */
export function describeContent({ state, sha256 }: Pick<FileFingerprint, "state" | "sha256">): string {
  return state === "content" ? `sha256 ${sha256?.slice(0, 16)}` : states[state];
}
