import { closeSync, createWriteStream, fstatSync, openSync, readSync, statSync, type WriteStream } from "node:fs";
import { resolve } from "node:path";
import type { GatewayListener } from "@wirescope/gateway";
import { writeReasonOf } from "../file-failure.js";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { UsageError } from "../usage-error.js";
import type { upOptions } from "./up-options.js";

/** Appends one JSON line to a file for each call, with its caller and outcome, and for each tool that changes after an approval. */
export interface AuditLog {
  readonly listener: GatewayListener;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

/** How often to check whether the file was rotated, in milliseconds. */
const checkEveryMs = 1000;

/**
 * Opens the audit log if the options name one. A new file is readable for its owner only. If the file is moved away, as log rotation does, a new one is started within a second.
 * A write error does not affect calls. It is reported once, and when writing works again, with the number of missing entries. Throws a UsageError if the file
 * cannot be opened.
 */
export function openAuditLog(
  values: OptionValues<typeof upOptions>,
  io: Pick<Io, "now">,
  report: (text: string) => void,
): AuditLog | undefined {
  const named = values["audit-file"];
  if (named !== undefined) return openFile(resolve(named), io, report);
  if (values["audit-arguments"]) throw new UsageError("--audit-arguments requires --audit-file.");
  return undefined;
}

function openFile(path: string, io: Pick<Io, "now">, report: (text: string) => void): AuditLog {
  /** The stream that failed, or that is used because no new one could be opened; until another one works. */
  let failed: WriteStream | undefined;
  let missing = 0;
  const onFailure = (error: unknown, stream: WriteStream): void => {
    if (failed === undefined) report(`Cannot write the audit log ${path}: ${writeReasonOf(error)}`);
    failed = stream;
  };
  const onWritten = (stream: WriteStream): void => {
    if (failed !== undefined && failed !== stream) recover();
  };
  const recover = (): void => {
    failed = undefined;
    const entries = missing === 1 ? "1 entry is" : `${missing} entries are`;
    report(`The audit log ${path} is written again.${missing === 0 ? "" : ` ${entries} missing.`}`);
    missing = 0;
  };
  const open = (): { stream: WriteStream; inode: number } => {
    const fd = openSync(path, "a", 0o600);
    const stream = createWriteStream(path, { fd });
    // A stream may fail after its successor is in use.
    stream.on("error", (error) => onFailure(error, stream));
    const stats = fstatSync(fd);
    if (stats.isFile() && endsWithinLine(path, stats.size)) stream.write("\n");
    return { stream, inode: stats.ino };
  };

  let current: ReturnType<typeof open>;
  try {
    current = open();
  } catch (error) {
    throw new UsageError(`Cannot write the file ${path} (--audit-file): ${writeReasonOf(error)}`);
  }
  const ended: Promise<void>[] = [];
  let checkedAt = Date.now();

  const renew = (): void => {
    const now = Date.now();
    const isBroken = current.stream.errored !== null;
    if (!isBroken && now - checkedAt < checkEveryMs) return;
    checkedAt = now;
    if (!isBroken && inodeOf(path) === current.inode) {
      // It was moved away and back, or its folder was.
      if (failed === current.stream) recover();
      return;
    }
    try {
      const next = open();
      ended.push(endOf(current.stream));
      current = next;
    } catch (error) {
      onFailure(error, current.stream);
    }
  };

  return {
    listener(event) {
      if (event.kind !== "call" && event.kind !== "tool-changed") return;
      const { kind, ...fields } = event;
      // Lines of calls have no kind, as in earlier versions.
      const facts = kind === "call" ? fields : event;
      renew();
      const { stream } = current;
      if (stream.errored !== null) {
        missing += 1;
        return;
      }
      stream.write(`${JSON.stringify({ time: io.now().toISOString(), ...facts })}\n`, (error) => {
        if (error) missing += 1;
        else onWritten(stream);
      });
    },
    async close() {
      ended.push(endOf(current.stream));
      await Promise.all(ended);
    },
  };
}

/** Whether a file ends within a line, as after a write to a full disk. False if it cannot be read. */
function endsWithinLine(path: string, size: number): boolean {
  if (size === 0) return false;
  let fd: number | undefined;
  try {
    fd = openSync(path, "r");
    const last = Buffer.alloc(1);
    return readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function endOf(stream: WriteStream): Promise<void> {
  if (stream.errored !== null) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once("close", () => resolve());
    stream.end();
  });
}

function inodeOf(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}
