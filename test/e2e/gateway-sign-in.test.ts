import { describe, expect, test } from "vitest";
import { createSignInWorld, note, patience, readNote, refuse, signIn } from "./gateway-sign-in.test.helper.js";

describe.each(["legacy", "modern"] as const)("through a client of the %s era", (mode) => {
  test("[TS-D-SIGNIN-1] [TS-OAUTH-3] a call of a tool opens the browser, waits for the sign-in, and succeeds", async () => {
    const world = await createSignInWorld();
    const client = await world.connect(mode);
    expect((await client.callTool(readNote)).content).toEqual(note);
    expect(world.opened).toHaveLength(1);
    expect(new URL(world.opened[0] ?? "").origin).toBe(world.authorization.issuer);
    expect((await client.callTool(readNote)).content).toEqual(note);
    expect(world.opened).toHaveLength(1);
    expect(world.events.filter(({ kind }) => kind === "sign-in")).toEqual([
      {
        kind: "sign-in",
        server: "notes",
        reason: `Opened the browser at ${world.authorization.issuer}, because a call of test-${mode} 1.0.0 needs a sign-in.`,
      },
    ]);
  });

  test("[TS-D-SIGNIN-2] a client that shows pages to its user is asked for it, and no browser opens", async () => {
    const world = await createSignInWorld();
    const asked: { readonly message: string; readonly url?: string; readonly mode?: string }[] = [];
    const client = await world.connect(mode, { capabilities: { elicitation: { url: {} } } });
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params as (typeof asked)[number]);
      void signIn((params as { readonly url: string }).url);
      return { action: "accept" };
    });
    expect((await client.callTool(readNote)).content).toEqual(note);
    expect(asked).toMatchObject([{ mode: "url", message: expect.stringContaining(world.authorization.issuer) }]);
    expect(asked[0]?.message).toContain("notes:read");
    expect(world.opened).toEqual([]);
  });

  test("[TS-D-SIGNIN-2] a client whose user declines gets an error at once, and is not asked again for a while", async () => {
    const world = await createSignInWorld(signIn, { linkTo: async () => "http://127.0.0.1:1/link" });
    let asked = 0;
    const client = await world.connect(mode, { capabilities: { elicitation: { url: {} } } });
    client.setRequestHandler("elicitation/create", async () => {
      asked += 1;
      return { action: "decline" };
    });
    await expect(client.callTool(readNote)).rejects.toThrow(/was declined in the client\. Or open this link/);
    await expect(client.callTool(readNote)).rejects.toThrow(/You were asked a moment ago/);
    expect([asked, world.opened]).toEqual([1, []]);
  });
});

test.each(["legacy", "modern"] as const)(
  "[TS-D-SIGNIN-6] a server that needs a sign-in offers the tool sign_in in place of its own, until somebody has signed in (%s)",
  async (mode) => {
    const world = await createSignInWorld();
    const client = await world.connect(mode);
    const tools = async (): Promise<string[]> =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
    expect(await tools()).toEqual(["notes__sign_in"]);
    const { content } = await client.callTool({ name: "notes__sign_in", arguments: {} });
    expect(content).toEqual([{ type: "text", text: "You are signed in to notes. Its tools are available now." }]);
    expect(world.opened).toHaveLength(1);
    await expect.poll(tools, patience).toEqual(["notes__read", "notes__write"]);
  },
);

test("[TS-D-SIGNIN-1] lists, and calls of other servers, open no browser", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy");
  expect((await client.listTools()).tools).toHaveLength(1);
  await expect(client.callTool({ name: "other__read" })).rejects.toThrow('Tool "other__read" does not exist');
  expect(world.opened).toEqual([]);
});

test("[TS-D-SIGNIN-3] calls at once, of one client and of another, wait for one browser", async () => {
  let proceed = (): void => {};
  const waiting = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const world = await createSignInWorld(async (url) => {
    await waiting;
    await signIn(url);
  });
  const [one, other] = [await world.connect("legacy"), await world.connect("modern")];
  const calls = [one, one, other, other].map((client) => client.callTool(readNote));
  await expect.poll(() => world.opened.length, patience).toBe(1);
  proceed();
  for (const { content } of await Promise.all(calls)) expect(content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test("[TS-D-SIGNIN-3] a client that cancels, or does not wait long enough, leaves the sign-in to its user: the next call works", async () => {
  const world = await createSignInWorld(() => {});
  const client = await world.connect("legacy");
  const leaving = new AbortController();
  const cancelled = client.callTool(readNote, { signal: leaving.signal });
  cancelled.catch(() => {});
  await expect.poll(() => world.opened.length, patience).toBe(1);
  leaving.abort();
  await expect(cancelled).rejects.toThrow();
  await expect(client.callTool(readNote, { timeout: 100 })).rejects.toThrow(/timed out/i);
  await expect
    .poll(() => world.events.filter(({ kind }) => kind === "call"), patience)
    .toMatchObject([{ outcome: "cancelled" }, { outcome: "cancelled" }]);
  await signIn(world.opened[0] ?? "");
  await expect.poll(() => world.gateway.servers()[0]?.state, patience).toBe("READY");
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test("[TS-D-SIGNIN-3] when the client that was asked leaves without a response, the next that waits takes over", async () => {
  const world = await createSignInWorld();
  const asking = await world.connect("legacy", { capabilities: { elicitation: { url: {} } } });
  let asked = 0;
  asking.setRequestHandler("elicitation/create", () => {
    asked += 1;
    return new Promise(() => {});
  });
  const leaving = new AbortController();
  const first = asking.callTool(readNote, { signal: leaving.signal });
  first.catch(() => {});
  await expect.poll(() => asked, patience).toBe(1);
  const progress: unknown[] = [];
  const next = await world.connect("modern");
  const second = next.callTool(readNote, { onprogress: (reported) => void progress.push(reported) });
  await expect.poll(() => progress, patience).toMatchObject([{ message: "Waiting for you to sign in to notes." }]);
  expect(world.opened).toEqual([]);
  leaving.abort();
  expect((await second).content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test("[TS-D-SIGNIN-2] a client that says it shows pages, and fails when it is asked to, gets the browser", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy", { capabilities: { elicitation: { url: {} } } });
  client.setRequestHandler("elicitation/create", () => Promise.reject(new Error("This window is closed.")));
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test("[TS-D-SIGNIN-4] a sign-in that is rejected fails the call with the reason; the browser opens again only after a pause, which grows", async () => {
  const world = await createSignInWorld(refuse);
  const client = await world.connect("legacy");
  const call = () => client.callTool(readNote);
  await expect(call()).rejects.toThrow(/the sign-in was refused: "access_denied"/);
  await expect(call()).rejects.toThrow(/You were asked a moment ago, so the browser is not opened again yet/);
  expect(world.opened).toHaveLength(1);
  world.clock.leap(60_000);
  await expect(call()).rejects.toThrow("access_denied");
  expect(world.opened).toHaveLength(2);
  world.clock.leap(60_000);
  await expect(call()).rejects.toThrow("a moment ago");
  expect(world.opened).toHaveLength(2);
});

test("[TS-D-SIGNIN-4] a page that was left open is opened once more after the pause, for the call that comes then", async () => {
  const world = await createSignInWorld((url) => (world.opened.length === 2 ? signIn(url) : undefined));
  const client = await world.connect("legacy");
  const first = client.callTool(readNote);
  await expect.poll(() => world.opened.length, patience).toBe(1);
  world.clock.leap(60_000);
  const second = client.callTool(readNote);
  for (const { content } of await Promise.all([first, second])) expect(content).toEqual(note);
  expect(world.opened).toEqual([world.opened[0], world.opened[0]]);
});

test("[TS-D-SIGNIN-5] without a browser the error carries the link and the command, and the log does not carry the link", async () => {
  const link = "http://127.0.0.1:1/?ticket=0123456789abcdef";
  const world = await createSignInWorld(null, { linkTo: async () => link });
  const client = await world.connect("legacy");
  const error = await client.callTool(readNote).catch((failure: unknown) => failure);
  expect(error).toMatchObject({
    message: expect.stringMatching(/wirescope login notes.* Or open this link, which works once: /),
    data: { reason: "SIGN_IN_NEEDED", server: "notes", url: link },
  });
  expect(String(error)).toContain(link);
  await expect.poll(() => world.events.some(({ kind }) => kind === "call"), patience).toBe(true);
  expect(JSON.stringify(world.events)).not.toContain("0123456789abcdef");
});

test("[TS-D-SIGNIN-5] a browser that cannot be started is no reason to wait", async () => {
  const world = await createSignInWorld(null, { openBrowser: async () => false, linkTo: async () => "http://x/y" });
  const client = await world.connect("legacy");
  await expect(client.callTool(readNote)).rejects.toThrow(/sign-in required.* Or open this link/);
});

test("[TS-D-SIGNIN-1] more permissions are asked for in the same way, and the call is made with them", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy");
  await client.callTool(readNote);
  const { content } = await client.callTool({ name: "notes__write", arguments: { text: "bread" } });
  expect(content).toEqual([{ type: "text", text: "written" }]);
  expect(world.opened).toHaveLength(2);
  expect(new URL(world.opened[1] ?? "").searchParams.get("scope")).toContain("notes:write");
});

test("[TS-OAUTH-7] [TS-D-SIGNIN-1] when the tokens are dead, the call asks for a new sign-in", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("modern");
  await client.callTool(readNote);
  await world.authorization.endGrants();
  world.clock.leap(3_600_000);
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.opened).toHaveLength(2);
});
