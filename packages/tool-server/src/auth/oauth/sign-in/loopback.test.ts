import { request as httpRequest } from "node:http";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { waiting } from "../../../waiting.test.helper.js";
import type { RedirectOptions } from "../oauth-context.js";
import { createOAuthWorld } from "../oauth-world.test.helper.js";
import type { Redirect } from "./ask.js";
import { loopback } from "./loopback.js";

async function open(options: RedirectOptions = {}, server = "notes", texts: string[] = []): Promise<Redirect> {
  const world = await createOAuthWorld();
  const { context } = world.session();
  context.log.subscribe(({ text }) => texts.push(text));
  const redirect = await loopback.open({ ...context, server }, options);
  onTestFinished(() => redirect.end());
  return redirect;
}

const never = new AbortController().signal;

test("the first response with the right state is received, and no second one", async () => {
  const receiver = await open();
  const received = receiver.receive(never);
  const statuses: number[] = [];
  for (const n of [1, 2, 3]) {
    void fetch(`${receiver.uri}?state=${receiver.state}&code=c${n}`).then(({ status }) => statuses.push(status));
  }
  expect((await received).get("code")).toMatch(/^c[123]$/);
  await expect.poll(() => statuses, waiting).toEqual([400, 400]);
  await receiver.end({});
  await expect.poll(() => statuses, waiting).toEqual([400, 400, 200]);
});

const returnTo = "http://127.0.0.1:4690/servers/notes?a=1&b=2";
const back = '<p><a href="http://127.0.0.1:4690/servers/notes?a=1&#38;b=2">Back to Wirescope</a></p>';

test.each([
  [{}, "<h1>Signed in to notes</h1>\n<p>You can close this tab.</p>"],
  [{ returnTo }, `<h1>Signed in to notes</h1>\n<p></p>\n${back}`],
  [
    { failure: new Error("<b>Nobody</b> allowed it."), returnTo },
    `<h1>Sign-in failed</h1>\n<p>&#60;b&#62;Nobody&#60;/b&#62; allowed it.</p>\n${back}`,
  ],
])(
  "[TS-D-SIGNIN-7] the last page waits for the result, and says whether the sign-in succeeded: %j",
  async (ending, text) => {
    const receiver = await open();
    const received = receiver.receive(never);
    let isShown = false;
    const page = fetch(`${receiver.uri}?state=${receiver.state}&code=c`).then((response) => {
      isShown = true;
      return response.text();
    });
    await received;
    expect(isShown).toBe(false);
    await receiver.end(ending);
    expect(await page).toContain(text);
  },
);

test("[TS-D-SIGNIN-7] the last page refers to where the sign-in was started if nobody reports its result", async () => {
  const receiver = await open();
  const received = receiver.receive(never);
  const page = fetch(`${receiver.uri}?state=${receiver.state}&code=c`);
  await received;
  await receiver.end();
  expect(await (await page).text()).toContain("The result is shown where you started the sign-in to notes.");
});

test("responses with another state, or none, are rejected and change nothing", async () => {
  const receiver = await open();
  const received = receiver.receive(never);
  for (const query of ["?state=s2&code=evil", "?code=evil", "", "?error=access_denied&state="]) {
    expect((await fetch(`${receiver.uri}${query}`)).status).toBe(400);
  }
  const last = fetch(`${receiver.uri}?state=${receiver.state}&code=good`);
  expect((await received).get("code")).toBe("good");
  await receiver.end({});
  expect((await last).status).toBe(200);
});

test("the user is notified once of responses with another state, or none, but not of a repeated response", async () => {
  const texts: string[] = [];
  const receiver = await open({}, "notes", texts);
  void receiver.receive(never);
  await fetch(`${receiver.uri}?code=c`);
  await fetch(`${receiver.uri}?code=c&state=s2`);
  expect(texts).toEqual([expect.stringMatching(/^Rejected a response/)]);

  const repeated: string[] = [];
  const other = await open({}, "notes", repeated);
  const response = other.receive(never);
  const pages = [1, 2].map(() => fetch(`${other.uri}?state=${other.state}&code=c`));
  await response;
  expect((await Promise.race(pages)).status).toBe(400);
  expect(repeated).toEqual([]);
  await other.end({});
});

test("no response is received before a caller waits", async () => {
  const receiver = await open();
  expect((await fetch(`${receiver.uri}?state=&code=x`)).status).toBe(400);
});

test("other paths, methods and hosts are rejected, including DNS rebinding (CVE-2025-66414)", async () => {
  const receiver = await open();
  const received = receiver.receive(never);
  const { port } = new URL(receiver.uri);
  expect((await fetch(`http://127.0.0.1:${port}/favicon.ico`)).status).toBe(404);
  expect((await fetch(`${receiver.uri}?state=${receiver.state}&code=x`, { method: "POST" })).status).toBe(400);
  // Like a page whose host name resolves to this machine (DNS rebinding).
  const rebound = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(
      `${receiver.uri}?state=${receiver.state}&code=x`,
      { headers: { host: `evil.example:${port}` } },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    request.on("error", reject).end();
  });
  expect(rebound).toBe(403);
  const last = fetch(`${receiver.uri}?state=${receiver.state}&code=good`);
  expect((await received).get("code")).toBe("good");
  await receiver.end({});
  expect((await last).status).toBe(200);
});

test("the callback page runs nothing, loads nothing, and shows text of a peer as text (CVE-2025-58747, CVE-2025-62800, CVE-2026-1721)", async () => {
  const receiver = await open({}, `<script>alert("name")</script>`);
  const failure = new Error('refused: <script>alert(1)</script><a href="javascript:alert(1)">');
  void receiver.receive(never).then(() => receiver.end({ failure }));
  const script = encodeURIComponent("<script>alert(1)</script>");
  for (const query of [
    `?state=${script}&error=${script}`,
    `?state=${receiver.state}&code=${script}&error_description=${script}`,
  ]) {
    const response = await fetch(`${receiver.uri}${query}`);
    const html = await response.text();
    expect(html).not.toContain("<script");
    expect(html).not.toContain("<a");
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; .*frame-ancestors 'none'$/,
    );
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(response.headers.get("cache-control")).toBe("no-store");
  }
});

test("a caller that gives up gets its reason, and later responses are rejected", async () => {
  const receiver = await open();
  const controller = new AbortController();
  const reason = new Error("enough");
  const received = receiver.receive(controller.signal);
  controller.abort(reason);
  await expect(received).rejects.toBe(reason);
  expect((await fetch(`${receiver.uri}?state=${receiver.state}&code=x`)).status).toBe(400);
});

test("the callback receiver listens on loopback addresses only, on both for localhost", async () => {
  const numeric = await open();
  const named = await open({ host: "localhost" });
  const reaches = (host: string, port: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ host, port }, () => resolve(true));
      socket.on("error", () => resolve(false)).on("connect", () => socket.destroy());
    });
  const portOf = ({ uri }: Redirect): number => Number(new URL(uri).port);
  expect(await reaches("127.0.0.1", portOf(numeric))).toBe(true);
  expect(await reaches("127.0.0.2", portOf(numeric))).toBe(false);
  expect(await reaches("127.0.0.1", portOf(named))).toBe(true);
  expect(named.uri).toBe(`http://localhost:${portOf(named)}/callback`);
});

test("a port that is bound on the other address of localhost is in use", async (context) => {
  // A port that is free on ::1 may be in use on 127.0.0.1, by another test for example: then the next one is tried.
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const squatter = createServer();
    const isBound = await new Promise<boolean>((resolve) => {
      squatter.once("error", () => resolve(false)).listen(0, "::1", () => resolve(true));
    });
    if (!isBound) return context.skip("This machine has no ::1.");
    onTestFinished(() => new Promise<void>((resolve) => void squatter.close(() => resolve())));
    const address = squatter.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const failure = await open({ host: "localhost", port }).catch((error: unknown) => error);
    if (failure instanceof Error && failure.message.includes(`port ${port} of 127.0.0.1`)) continue;
    expect(failure).toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining(`port ${port} of ::1`),
      advice:
        "Stop that program, or set another callbackPort. If you set a clientId, register the new redirect URI for that client too.",
    });
    return;
  }
  expect.unreachable("none of 20 ports that were free on ::1 was free on 127.0.0.1");
});

test("suggests a higher port if this user may not bind a privileged one", async (context) => {
  if (process.getuid?.() === 0) {
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
  }
  const failure = await open({ port: 1 }).catch((error: unknown) => error);
  if (!(failure instanceof Error && failure.message.includes("EACCES")))
    return context.skip("Every user may bind any port here.");
  expect(failure).toMatchObject({
    code: "SIGN_IN_FAILED",
    advice:
      "Set a callbackPort of 1024 or more. If you set a clientId, register the new redirect URI for that client too.",
  });
});

test("closing the callback receiver frees the port", async () => {
  const receiver = await open();
  const half = connect(Number(new URL(receiver.uri).port), "127.0.0.1");
  half.on("error", () => undefined);
  await new Promise((resolve) => half.once("connect", resolve));
  await receiver.end();
  const port = Number(new URL(receiver.uri).port);
  expect((await open({ port })).uri).toBe(receiver.uri);
});
