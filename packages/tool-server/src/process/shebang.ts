import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { shellWord } from "../shell-word.js";

/**
 * Whether the first line of a script names its interpreter and ends with a carriage return, as an editor of Windows writes it. The
 * system then looks for an interpreter whose name ends with that character. Never rejects.
 */
export async function hasCarriageReturn(path: string): Promise<boolean> {
  return /^#![^\n]*\r\n/.test(await beginningOf(path));
}

/** Whether a file is a script whose first line names an interpreter that does not exist. Never rejects. */
export async function isInterpreterMissing(path: string): Promise<boolean> {
  const [, interpreter] = /^#![ \t]*([^ \t\n]+)/.exec(await beginningOf(path)) ?? [];
  if (interpreter === undefined) return false;
  return stat(Buffer.from(interpreter, "latin1")).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
  );
}

async function beginningOf(path: string): Promise<string> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } catch {
    return "";
  }
}

/** What is wrong with such a script, and what helps; `path` is the script. */
export function carriageReturnAdvice(path: string): string {
  return (
    "Its lines end as on Windows (CRLF), so the interpreter in its first line is not found. Convert it: " +
    `sed -i.bak 's/\\r$//' ${shellWord(path)}; and keep it so in git, with "*.sh text eol=lf" in .gitattributes.`
  );
}
