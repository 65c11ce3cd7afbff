import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";

/** A file of the page, uncompressed and compressed. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

/** The files of the page by their path, such as `/index.html` and `/assets/index-Ab12.js`. Nothing else in the folder can be reached. */
export type Assets = ReadonlyMap<string, Asset>;

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".ico": "image/x-icon",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
};

/**
 * Reads the page into memory, so that its files belong together even if a newer version is installed meanwhile. Empty if the folder does
 * not exist or has no index.html.
 */
export async function readAssets(folder: string | undefined): Promise<Assets> {
  const assets = new Map<string, Asset>();
  if (folder === undefined) return assets;
  const names = new Set([
    ...(await filesOf(folder)),
    ...(await filesOf(join(folder, "assets"))).map((name) => `assets/${name}`),
  ]);
  if (!names.has("index.html")) return assets;
  const read = (name: string): Promise<Buffer> | undefined =>
    names.has(name) ? readFile(join(folder, name)) : undefined;
  await Promise.all(
    [...names].map(async (name) => {
      const type = types[extname(name)];
      if (type === undefined) return;
      const [body, br, gzip] = await Promise.all([read(name), read(`${name}.br`), read(`${name}.gz`)]);
      if (body !== undefined) assets.set(`/${name}`, { type, body, br, gzip });
    }),
  );
  return assets;
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** The smallest form of a file that a browser accepts, with the headers that say so. */
export function encodingOf(
  { type, body, br, gzip }: Asset,
  accepted: string | undefined,
): { readonly bytes: Buffer; readonly headers: Readonly<Record<string, string>> } {
  const names = new Set(
    (accepted ?? "")
      .toLowerCase()
      .split(",")
      .filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
      .map((part) => part.split(";", 1)[0]?.trim()),
  );
  const headers = { "content-type": type, vary: "accept-encoding" };
  if (br !== undefined && names.has("br")) return { bytes: br, headers: { ...headers, "content-encoding": "br" } };
  if (gzip !== undefined && names.has("gzip")) {
    return { bytes: gzip, headers: { ...headers, "content-encoding": "gzip" } };
  }
  return { bytes: body, headers };
}
