import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Save } from "./render-content.js";

const endings: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "application/pdf": "pdf",
  "application/gzip": "gz",
  "application/zip": "zip",
  "text/plain": "txt",
  "text/html": "html",
  "application/json": "json",
};

/** Saves into a folder, under names of its own that overwrite nothing. The server has no say in a name. */
export function saveInto(folder: string, stem: string): Save {
  const safe = stem.replace(/[^\w.-]+/g, "-").replace(/^[.-]+/, "") || "content";
  return (bytes, mimeType) => {
    const ending = endings[mimeType ?? ""] ?? "bin";
    mkdirSync(folder, { recursive: true });
    for (let number = 1; ; number += 1) {
      const path = join(folder, `${safe}-${number}.${ending}`);
      let file: number;
      try {
        file = openSync(path, "wx");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "EEXIST") continue;
        throw error;
      }
      try {
        writeSync(file, bytes);
      } finally {
        closeSync(file);
      }
      return path;
    }
  };
}
