import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.test.helper.js";
import type { GatewayOptions } from "../gateway-options.js";
import { createPageAccess, type PageAccess, type PageLink } from "./page-access.js";

export interface PageWorld extends TestGateway {
  readonly access: PageAccess;
}

/** A raw response. */
export interface RawResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A browser that has opened a link. */
export interface Browser {
  readonly cookie: string;
  readonly key: string;
}

export const script: string = `console.log(${JSON.stringify("x".repeat(500))});`;

/** A folder like the built page, until the test ends. */
export function createAssets(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "assets"));
  const write = (name: string, body: string): void => {
    writeFileSync(join(folder, name), body);
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(body));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(body));
  };
  write(
    "index.html",
    '<!doctype html><title>Wirescope</title><script type="module" src="/assets/index-Ab12.js"></script>',
  );
  write("assets/index-Ab12.js", script);
  writeFileSync(join(folder, "secret.pem"), "not a file of the page");
  return folder;
}

/** Starts a gateway with a page, until the test ends. */
export async function startPage(
  assets: string | undefined = createAssets(),
  entries: object = {},
  options: Partial<GatewayOptions> = {},
): Promise<PageWorld> {
  const access = createPageAccess();
  const world = await startTestGateway(entries, { page: { access, assets }, ...options });
  return { ...world, access };
}

/** Opens a link as a browser does. */
export async function enter({ access, url }: PageWorld, link: PageLink = {}): Promise<Browser> {
  const response = await fetch(access.linkTo(url, link));
  const [, key = ""] = /data-key="([^"]+)"/.exec(await response.text()) ?? [];
  return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "", key };
}

/** Sends a request with exactly this path and these headers. */
export async function send(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
  body = "",
): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      const { statusCode: status = 0, headers: given } = response;
      text(response).then((read) => resolve({ status, headers: given, body: read }), reject);
    });
    sent.once("error", reject).end(body);
  });
}
