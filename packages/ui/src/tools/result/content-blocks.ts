import { visibleLine, visibleText } from "../../design/visible-text.js";

/** Text that may be truncated when it is shown. */
export interface ShownText {
  /** The shown part, with invisible characters made visible. */
  readonly shown: string;
  /** The whole text, as the server sent it. */
  readonly whole: string;
}

/** One part of a result, ready to be shown. It contains no markup, and none of its addresses is loaded. */
export type ContentBlock =
  | { readonly kind: "text"; readonly text: ShownText; readonly isJson: boolean }
  | { readonly kind: "image" | "audio"; readonly source: string; readonly mimeType: string; readonly bytes: number }
  /** Data that is not shown: it can be saved. */
  | { readonly kind: "data"; readonly mimeType: string; readonly bytes: number; readonly base64: string }
  | { readonly kind: "link"; readonly uri: string; readonly name: string; readonly notes: readonly string[] }
  | { readonly kind: "resource"; readonly uri: string; readonly mimeType: string; readonly content: ContentBlock }
  | { readonly kind: "note"; readonly text: string };

/** A tool result, ready to be shown. */
export interface ResultView {
  readonly isError: boolean;
  readonly blocks: readonly ContentBlock[];
  readonly structured: ShownText | undefined;
  /** The whole result as JSON. */
  readonly json: ShownText;
}

const maxBlocks = 100;
const maxShownLength = 100_000;
const maxMediaLength = 24 * 1024 * 1024;

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "image/bmp",
  "image/svg+xml",
]);
const audioTypes: ReadonlySet<string> = new Set([
  "audio/wav",
  "audio/x-wav",
  "audio/wave",
  "audio/mpeg",
  "audio/mp3",
  "audio/mp4",
  "audio/aac",
  "audio/ogg",
  "audio/webm",
  "audio/flac",
]);

/** Prepares a tool result to be shown. Accepts any value: a server may send anything. */
export function resultView(result: unknown): ResultView {
  const { content, structuredContent, isError } = objectOf(result);
  return {
    isError: isError === true,
    blocks: contentBlocks(content),
    structured: structuredContent === undefined ? undefined : shownJson(structuredContent),
    json: shownJson(result),
  };
}

/** The parts of a tool, prompt or resource content. */
export function contentBlocks(content: unknown): readonly ContentBlock[] {
  if (content === undefined) return [];
  if (!Array.isArray(content)) return [contentBlock(content)];
  const blocks = content.slice(0, maxBlocks).map((part) => contentBlock(part));
  const left = content.length - blocks.length;
  return left <= 0 ? blocks : [...blocks, { kind: "note", text: `${left} more parts are not shown.` }];
}

/** One part of content. */
export function contentBlock(part: unknown): ContentBlock {
  const { type, text, data, blob, resource, uri, mimeType } = objectOf(part);
  const mime = typeof mimeType === "string" ? mimeType : "";
  if (typeof text === "string") {
    const block = textBlock(text, mime);
    return type === undefined && typeof uri === "string" ? resourceBlock(uri, mime, block) : block;
  }
  const base64 = data ?? blob;
  if (typeof base64 === "string") {
    const block = mediaBlock(base64, mime);
    return type === undefined && typeof uri === "string" ? resourceBlock(uri, mime, block) : block;
  }
  if (type === "resource" && typeof resource === "object" && resource !== null) {
    // A resource within a resource is not part of the protocol.
    return contentBlock({ ...resource, type: undefined, resource: undefined });
  }
  if (typeof uri === "string") return linkBlock(objectOf(part), uri);
  return { kind: "text", text: shownJson(part), isJson: true };
}

function textBlock(text: string, mimeType: string): ContentBlock {
  const looksLikeJson = /^application\/(.+\+)?json\b/.test(mimeType) || /^\s*[[{]/.test(text);
  if (looksLikeJson && text.length <= maxShownLength) {
    try {
      return { kind: "text", text: { ...shownJson(JSON.parse(text)), whole: text }, isJson: true };
    } catch {
      // It only looks like JSON.
    }
  }
  return { kind: "text", text: shownText(text), isJson: false };
}

function mediaBlock(base64: string, mimeType: string): ContentBlock {
  const type = mimeType.toLowerCase().split(";")[0]?.trim() ?? "";
  const compact = base64.replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(compact))
    return { kind: "note", text: `Invalid base64 (${visibleLine(type)}).` };
  const standard = compact.replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Math.floor((standard.replace(/=+$/, "").length * 3) / 4);
  const kind = imageTypes.has(type) ? "image" : audioTypes.has(type) ? "audio" : "data";
  if (kind === "data" || standard.length > maxMediaLength) {
    return { kind: "data", mimeType: visibleLine(type), bytes, base64: standard };
  }
  return { kind, source: `data:${type};base64,${standard}`, mimeType: type, bytes };
}

function resourceBlock(uri: string, mimeType: string, content: ContentBlock): ContentBlock {
  return { kind: "resource", uri, mimeType: visibleLine(mimeType), content };
}

function linkBlock({ name, title, description, mimeType, size }: Record<string, unknown>, uri: string): ContentBlock {
  const notes = [mimeType, typeof size === "number" ? formatBytes(size) : undefined, description];
  return {
    kind: "link",
    uri,
    name: visibleLine(String([title, name, uri].find((text) => typeof text === "string" && text !== ""))),
    notes: notes.flatMap((note) => (typeof note === "string" && note !== "" ? [visibleLine(note, 500)] : [])),
  };
}

/** Any value as indented JSON. */
export function shownJson(value: unknown): ShownText {
  try {
    const whole = JSON.stringify(value, null, 2) ?? "undefined";
    return shownText(whole);
  } catch (error) {
    const text = `This value cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    return { shown: text, whole: text };
  }
}

export function shownText(whole: string): ShownText {
  return { shown: visibleText(whole.slice(0, maxShownLength)), whole };
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 1_000_000 ? [bytes / 1000, "kB"] : [bytes / 1_000_000, "MB"];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
