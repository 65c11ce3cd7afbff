import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { Gateway } from "@wirescope/gateway/internal";
import { expect, onTestFinished, test } from "vitest";
import { createSignInLinks } from "./sign-in-links.js";

function createLinks(gateway: Partial<Gateway> = {}): ReturnType<typeof createSignInLinks> {
  const links = createSignInLinks(() => gateway as Gateway);
  onTestFinished(() => links.close());
  return links;
}

/** The response to a request whose target is sent unchanged, which Node's clients would not do. */
async function sendRaw(port: string, target: string, host = `127.0.0.1:${port}`): Promise<string> {
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return text(socket);
}

test.each(["//", "//[", "http://[/", "//:99999/", "/\\\\[", "*"])(
  "[TS-D-SIGNIN-5] responds to a request for %s, which is not a URL, and keeps the gateway running",
  async (target) => {
    const { port } = new URL(await createLinks().linkTo("a"));
    expect(await sendRaw(port, target)).toMatch(/^HTTP\/1\.1 40[0-9] /);
  },
);

test("[TS-D-SIGNIN-5] accepts a link once, at the address of this machine only, and for no other page", async () => {
  const oauth = async (): Promise<undefined> => undefined;
  const link = new URL(await createLinks({ oauth }).linkTo("a"));
  const { port, pathname, search } = link;
  expect(await sendRaw(port, `${pathname}${search}`, `rebound.example:${port}`)).toContain("403 Forbidden");
  expect(await sendRaw(port, `${pathname}${search}`, `localhost:${port}`)).toContain("403 Forbidden");
  const entered = await fetch(link);
  const [, path = ""] = /url=([^"]+)"/.exec(await entered.text()) ?? [];
  expect(path).toMatch(/^\/status\/[\w-]{43}\/sign-in\?server=a$/);
  const cookie = (entered.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  expect((await fetch(link)).status).toBe(403);
  expect((await fetch(new URL(path, link))).status).toBe(403);
  const page = await fetch(new URL(path, link), { headers: { cookie } });
  expect(await page.text()).toContain(
    "This server has its own credential in the configuration and does not use OAuth.",
  );
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect((await fetch(new URL(path.replace(/\/sign-in.*/, ""), link), { headers: { cookie } })).status).toBe(404);
});
