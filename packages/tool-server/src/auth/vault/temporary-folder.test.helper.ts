import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is deleted after the test. */
export async function temporaryFolder(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "wirescope-vault-")));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Every file below a folder, with its bytes. */
export async function filesBelow(folder: string): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) found.set(path, await readFile(path));
  }
  return found;
}

/** Every file below a folder, with a hash of its bytes: enough to see what changed. */
export async function fingerprintsBelow(folder: string): Promise<Record<string, string>> {
  const files = [...(await filesBelow(folder))].map(([path, bytes]) => [path, fingerprintOf(bytes)]);
  return Object.fromEntries(files.sort());
}

export function fingerprintOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * The files of a folder that contain one of these strings, as it is, in base64 or in hexadecimal. Give it long strings:
 * random text contains short ones by chance.
 */
export async function filesWith(folder: string, ...texts: readonly string[]): Promise<string[]> {
  const needles = texts.flatMap((text) => {
    const bytes = Buffer.from(text);
    // The base64 of a longer text contains that of whole groups of three bytes, at one of three offsets.
    const encoded = [0, 1, 2].map((offset) =>
      bytes.toString("base64", offset, bytes.length - ((bytes.length - offset) % 3)),
    );
    return [text, ...encoded, bytes.toString("hex")];
  });
  const files = [...(await filesBelow(folder))];
  return files.filter(([, bytes]) => needles.some((needle) => bytes.includes(needle))).map(([path]) => path);
}
