import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { printableText } from "@wirescope/channelz/internal";
import { formatJson } from "../output/json.js";
import type { Palette } from "../output/screen.js";

/** A content part of a tool result, a resource or a prompt. */
interface ContentPart {
  readonly type: string;
  readonly text?: unknown;
  readonly data?: unknown;
  readonly blob?: unknown;
  readonly mimeType?: unknown;
  readonly uri?: unknown;
  readonly name?: unknown;
  readonly resource?: unknown;
}

/** Saves bytes to a file and returns its path. */
type Save = (bytes: Uint8Array, mimeType: string | undefined) => string;

/** Content as lines: text with control characters escaped, indented JSON, and the paths of saved files. */
export function renderContent(parts: readonly ContentPart[], palette: Palette, save: Save): string[] {
  return parts.flatMap((part) => renderPart(part, palette, save));
}

function renderPart(part: ContentPart, palette: Palette, save: Save): string[] {
  const mimeType = typeof part.mimeType === "string" ? part.mimeType : undefined;
  if (typeof part.text === "string") return renderText(part.text, mimeType);
  const bytes = part.data ?? part.blob;
  if (typeof bytes === "string") {
    const path = save(Buffer.from(bytes, "base64"), mimeType);
    return [palette.faint(`${printableText(`${part.type} ${mimeType ?? ""}`).trim()} saved as ${path}`)];
  }
  if (typeof part.resource === "object" && part.resource !== null) {
    return renderPart({ type: "resource", ...part.resource }, palette, save);
  }
  if (typeof part.uri === "string") {
    const name = typeof part.name === "string" ? `${printableText(part.name)}: ` : "";
    return [`${name}${printableText(part.uri)}`];
  }
  return formatJson(JSON.parse(JSON.stringify(part))).split("\n");
}

function renderText(text: string, mimeType: string | undefined): string[] {
  if (mimeType === "application/json" || /^\s*[[{]/.test(text)) {
    try {
      return formatJson(JSON.parse(text)).split("\n");
    } catch {
      // It only looks like JSON.
    }
  }
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => printableText(line));
}

const extensions: Readonly<Record<string, string>> = {
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

/** Saves into a folder. File names are not chosen by the server, and nothing is overwritten. */
export function saveInto(folder: string, stem: string): Save {
  const safe = stem.replace(/[^\w.-]+/g, "-").replace(/^[.-]+/, "") || "content";
  return (bytes, mimeType) => {
    const extension = extensions[mimeType ?? ""] ?? "bin";
    mkdirSync(folder, { recursive: true });
    for (let number = 1; ; number += 1) {
      const path = join(folder, `${safe}-${number}.${extension}`);
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
