import { type ApprovalSubject, flattenForm } from "./approval.js";
import { type FileFingerprint, isUnchecked } from "./fingerprint-entry.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";
import { describeContent, describeFile } from "./render-approval.js";

/** A difference between the approved state and the current one. Strings are as written: escape them before printing. */
export type ApprovalChange =
  /** A value of the entry; undefined if it is missing. */
  | {
      readonly kind: "field";
      readonly field: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
    }
  /** A file that the entry runs: its content or existence. */
  | {
      readonly kind: "file";
      readonly field: string;
      readonly path: string;
      readonly before: FileFingerprint | undefined;
      readonly after: FileFingerprint | undefined;
    }
  /** The origin of the url after substitution; undefined if it is unknown. */
  | { readonly kind: "origin"; readonly before: string | undefined; readonly after: string | undefined }
  /** The plugin root was moved. */
  | { readonly kind: "plugin-root"; readonly before: string; readonly after: string }
  /** A hidden value, such as a secret that is written into the entry. */
  | { readonly kind: "not-shown" }
  /** A file that cannot be checked, and so may have changed. */
  | { readonly kind: "unchecked"; readonly file: FileFingerprint };

/** The differences from an approval; empty if the approval is valid. */
export function diffApproval(approved: ApprovalSubject, now: ApprovalSubject): ApprovalChange[] {
  const changes: ApprovalChange[] = diffFields(flattenForm(approved.entry), flattenForm(now.entry));
  const isEntrySame = approved.fingerprint.entry === now.fingerprint.entry;
  // The order of keys does not count as a change.
  if (!isEntrySame && changes.length === 0) changes.push({ kind: "not-shown" });
  const [before, after] = [approved.fingerprint.origin, now.fingerprint.origin];
  if (before !== after) changes.push({ kind: "origin", before, after });
  changes.push(...diffFiles(approved.fingerprint.files, now.fingerprint.files));
  if (approved.pluginRoot !== now.pluginRoot) {
    changes.push({ kind: "plugin-root", before: approved.pluginRoot, after: now.pluginRoot });
  }
  changes.push(...now.fingerprint.files.filter(isUnchecked).map((file) => ({ kind: "unchecked" as const, file })));
  // The digest decides: an approval with a digest of another format is not valid.
  if (changes.length === 0 && approved.fingerprint.digest !== now.fingerprint.digest)
    changes.push({ kind: "not-shown" });
  return changes;
}

/** The differences as lines of plain ASCII. Strings of the entry cannot break lines or control the terminal. */
export function renderDiff(changes: readonly ApprovalChange[]): string[] {
  const lines = changes.slice(0, 200).flatMap(renderChange);
  return changes.length > 200 ? [...lines, `! ${changes.length - 200} more changes. Read the file.`] : lines;
}

function renderChange(change: ApprovalChange): string[] {
  switch (change.kind) {
    case "field":
      return [quoteUnlessPlain(change.field), ...pair(change.before, change.after, quoteText)];
    case "file": {
      const what = `${quoteUnlessPlain(change.field)}: the file ${quoteText(change.path)}`;
      const isContent = change.before?.state === "content" && change.after?.state === "content";
      return [isContent ? `${what} has changed` : what, ...pair(change.before, change.after, describeContent)];
    }
    case "origin":
      return ["origin", ...pair(change.before, change.after, quoteUnlessPlain)];
    case "plugin-root":
      return ["plugin root", ...pair(change.before, change.after, quoteText)];
    case "not-shown":
      return ["! a value that is not shown has changed"];
    case "unchecked":
      return [`! ${describeFile(change.file)}`];
  }
}

function pair<T>(before: T | undefined, after: T | undefined, show: (value: T) => string): string[] {
  return [
    ...(before === undefined ? [] : [`  - ${show(before)}`]),
    ...(after === undefined ? [] : [`  + ${show(after)}`]),
  ];
}

function diffFields(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ApprovalChange[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((field) => before.get(field) !== after.get(field))
    .map((field) => ({ kind: "field", field, before: before.get(field), after: after.get(field) }));
}

function diffFiles(before: readonly FileFingerprint[], after: readonly FileFingerprint[]): ApprovalChange[] {
  const keyOf = ({ field, path }: FileFingerprint): string => JSON.stringify([field, path]);
  const old = new Map(before.map((file) => [keyOf(file), file]));
  const now = new Map(after.map((file) => [keyOf(file), file]));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): ApprovalChange[] => {
    const [a, b] = [old.get(key), now.get(key)];
    if (a?.state === b?.state && a?.sha256 === b?.sha256) return [];
    const { field, path } = b ?? a ?? { field: "", path: "" };
    return [{ kind: "file", field, path, before: a, after: b }];
  });
}
