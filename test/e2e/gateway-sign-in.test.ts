import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { memorySkillFiles, SkillsExtension } from "@modelcontextprotocol/server/ext/skills";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createSignInWorld, note, pollOptions, readNote, refuse, signIn } from "./gateway-sign-in.test.helper.js";

describe.each(["legacy", "modern"] as const)("a sign-in through a %s client", (mode) => {
  test("[TS-D-SIGNIN-1] [TS-OAUTH-3] opens the browser for a tool call, waits for the sign-in, and completes the call", async () => {
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
        reason: `Opened the browser at ${world.authorization.issuer}, because a call from test-${mode} 1.0.0 needs a sign-in.`,
      },
    ]);
  });

  test("[TS-D-SIGNIN-2] asks a client that shows pages to its user, and opens no browser", async () => {
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

  test("[TS-D-SIGNIN-2] returns an error at once if the user of a client declines, and does not ask again for a while", async () => {
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
  "[TS-D-SIGNIN-6] offers the tool sign_in in place of the tools of a server that needs a sign-in, until somebody has signed in (%s)",
  async (mode) => {
    const world = await createSignInWorld();
    const client = await world.connect(mode);
    const tools = async (): Promise<string[]> =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
    expect(await tools()).toEqual(["notes__sign_in"]);
    const { content } = await client.callTool({ name: "notes__sign_in", arguments: {} });
    expect(content).toEqual([{ type: "text", text: "You are signed in to notes. Its tools are available now." }]);
    expect(world.opened).toHaveLength(1);
    await expect.poll(tools, pollOptions).toEqual(["notes__read", "notes__write"]);
  },
);

test("[TS-D-SIGNIN-1] opens no browser for lists, nor for calls of other servers", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy");
  expect((await client.listTools()).tools).toHaveLength(1);
  await expect(client.callTool({ name: "other__read" })).rejects.toThrow('Tool "other__read" does not exist');
  expect(world.opened).toEqual([]);
});

test("[TS-D-SIGNIN-3] waits for one browser in concurrent calls of one client and of another", async () => {
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
  await expect.poll(() => world.opened.length, pollOptions).toBe(1);
  proceed();
  for (const { content } of await Promise.all(calls)) expect(content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test("[TS-D-SIGNIN-3] leaves the sign-in to the user if the client cancels or does not wait long enough, and the next call works", async () => {
  const world = await createSignInWorld(() => {});
  const client = await world.connect("legacy");
  const leaving = new AbortController();
  const cancelled = client.callTool(readNote, { signal: leaving.signal });
  cancelled.catch(() => {});
  await expect.poll(() => world.opened.length, pollOptions).toBe(1);
  leaving.abort();
  await expect(cancelled).rejects.toThrow();
  await expect(client.callTool(readNote, { timeout: 1000 })).rejects.toThrow(/timed out/i);
  await expect
    .poll(() => world.events.filter(({ kind }) => kind === "call"), pollOptions)
    .toMatchObject([{ outcome: "cancelled" }, { outcome: "cancelled" }]);
  await signIn(world.opened[0] ?? "");
  await expect.poll(() => world.gateway.servers()[0]?.state, pollOptions).toBe("READY");
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test.each(["cancels its call", "disconnects"])(
  "[TS-D-SIGNIN-3] asks the next waiting client if the client that was asked %s without a response",
  async (how) => {
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
    await expect.poll(() => asked, pollOptions).toBe(1);
    const progress: unknown[] = [];
    const next = await world.connect("modern");
    const second = next.callTool(readNote, { onprogress: (reported) => void progress.push(reported) });
    await expect.poll(() => progress, pollOptions).toMatchObject([{ message: "Waiting for you to sign in to notes." }]);
    expect(world.opened).toEqual([]);
    if (how === "disconnects") await (asking.transport as StreamableHTTPClientTransport).terminateSession();
    else leaving.abort();
    expect((await second).content).toEqual(note);
    expect(world.opened).toHaveLength(1);
  },
);

test("[TS-D-SIGNIN-2] [TS-D-SIGNIN-3] reports to a client that its user has signed in, also after its call was cancelled", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy", { capabilities: { elicitation: { url: {} } } });
  const asked: { readonly elicitationId: string; readonly url: string }[] = [];
  const completed: string[] = [];
  const { transport } = client;
  if (transport === undefined) throw new Error("not connected");
  const send = transport.send.bind(transport);
  let hasAccepted = false;
  transport.send = async (message, sendOptions) => {
    await send(message, sendOptions);
    hasAccepted ||= "result" in message;
  };
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    asked.push(params as (typeof asked)[number]);
    return { action: "accept" };
  });
  client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => {
    completed.push(params.elicitationId);
  });
  const leaving = new AbortController();
  const cancelled = client.callTool(readNote, { signal: leaving.signal });
  cancelled.catch(() => {});
  await expect.poll(() => hasAccepted, pollOptions).toBe(true);
  leaving.abort();
  await expect.poll(() => world.events.some(({ kind }) => kind === "call"), pollOptions).toBe(true);
  await signIn(asked[0]?.url ?? "");
  await expect.poll(() => completed, pollOptions).toEqual([asked[0]?.elicitationId]);
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect([asked.length, world.opened]).toEqual([1, []]);
});

describe("[TS-D-SIGNIN-3] during a reload, a call that waits for a sign-in", () => {
  const notCalled = /"notes" was just changed or removed in the configuration, and was not called\. Call again\.$/;

  async function startWaiting() {
    const world = await createSignInWorld((url) => (world.opened.length === 2 ? signIn(url) : undefined));
    const client = await world.connect("legacy");
    const waiting = client.callTool(readNote);
    waiting.catch(() => {});
    await expect.poll(() => world.opened.length, pollOptions).toBe(1);
    return { world, client, waiting };
  }

  test("fails with a request to call again if the server is changed, and the next one asks for a sign-in at once", async () => {
    const { world, client, waiting } = await startWaiting();
    await world.reload({ headers: { "x-new": "1" } });
    await expect(waiting).rejects.toThrow(notCalled);
    expect((await client.callTool(readNote)).content).toEqual(note);
    expect(world.opened).toHaveLength(2);
    expect(world.gateway.servers()[0]).toMatchObject({ state: "READY", tools: 2 });
  });

  test("fails with a request to call again if the server is removed", async () => {
    const { world, waiting } = await startWaiting();
    await world.gateway.reload([]);
    await expect(waiting).rejects.toThrow(notCalled);
    expect(world.opened).toHaveLength(1);
  });
});

test("[TS-D-SIGNIN-2] opens the browser if a client says that it shows pages, and fails when it is asked to", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy", { capabilities: { elicitation: { url: {} } } });
  client.setRequestHandler("elicitation/create", () => Promise.reject(new Error("This window is closed.")));
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.opened).toHaveLength(1);
});

test("[TS-D-SIGNIN-4] fails the call with the reason if a sign-in is rejected, and opens the browser again only after a growing pause", async () => {
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

test("[TS-D-SIGNIN-4] opens the page again for the next call after the pause if it was left open", async () => {
  const world = await createSignInWorld((url) => (world.opened.length === 2 ? signIn(url) : undefined));
  const client = await world.connect("legacy");
  const first = client.callTool(readNote);
  await expect.poll(() => world.opened.length, pollOptions).toBe(1);
  world.clock.leap(60_000);
  const second = client.callTool(readNote);
  for (const { content } of await Promise.all([first, second])) expect(content).toEqual(note);
  expect(world.opened).toEqual([world.opened[0], world.opened[0]]);
});

test("[TS-D-SIGNIN-5] returns the link and the command without a browser, and does not log the link", async () => {
  const link = "http://127.0.0.1:1/?ticket=0123456789abcdef";
  const world = await createSignInWorld(null, { linkTo: async () => link });
  const client = await world.connect("legacy");
  const error = await client.callTool(readNote).catch((failure: unknown) => failure);
  expect(error).toMatchObject({
    message: expect.stringMatching(/wirescope login notes.* Or open this link, which works once: /),
    data: { reason: "SIGN_IN_NEEDED", server: "notes", url: link },
  });
  expect(String(error)).toContain(link);
  await expect.poll(() => world.events.some(({ kind }) => kind === "call"), pollOptions).toBe(true);
  expect(JSON.stringify(world.events)).not.toContain("0123456789abcdef");
});

test.each([
  ["cannot be started", async (): Promise<boolean> => false],
  ["fails to start", (): Promise<boolean> => Promise.reject(new Error("no browser"))],
] as const)("[TS-D-SIGNIN-5] does not wait if a browser %s", async (_, openBrowser) => {
  const world = await createSignInWorld(null, { openBrowser, linkTo: async () => "http://x/y" });
  const client = await world.connect("legacy");
  await expect(client.callTool(readNote)).rejects.toThrow(/sign-in required.* Or open this link/);
});

test("[TS-D-SIGNIN-1] asks for more permissions in the same way, and makes the call with them", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("legacy");
  await client.callTool(readNote);
  const { content } = await client.callTool({ name: "notes__write", arguments: { text: "bread" } });
  expect(content).toEqual([{ type: "text", text: "written" }]);
  expect(world.opened).toHaveLength(2);
  expect(new URL(world.opened[1] ?? "").searchParams.get("scope")).toContain("notes:write");
});

test("[TS-D-SIGNIN-1] keeps a server connected for everybody if one call needs more permissions and the user denies them", async () => {
  let pages = 0;
  const world = await createSignInWorld((url) => {
    pages += 1;
    return pages === 1 ? signIn(url) : refuse(url);
  });
  const client = await world.connect("legacy");
  await client.callTool(readNote);
  const before = world.events.length;
  const writing = client.callTool({ name: "notes__write", arguments: { text: "bread" } });
  await expect(writing).rejects.toThrow(/notes:write|access_denied/);
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.events.slice(before).filter(({ kind }) => kind === "server-state")).toEqual([]);
  expect(world.opened).toHaveLength(2);
});

test("[TS-OAUTH-7] [TS-D-SIGNIN-1] asks for a new sign-in during a call when the tokens are dead", async () => {
  const world = await createSignInWorld();
  const client = await world.connect("modern");
  await client.callTool(readNote);
  await world.authorization.endGrants();
  world.clock.leap(3_600_000);
  expect((await client.callTool(readNote)).content).toEqual(note);
  expect(world.opened).toHaveLength(2);
});

test("[TS-D-SIGNIN-1] asks for a new sign-in when the state of a task is requested, and returns it", async () => {
  const tasks = "io.modelcontextprotocol/tasks";
  const times = { createdAt: "2026-11-16T12:00:00Z", lastUpdatedAt: "2026-11-16T12:00:00Z", ttlMs: null };
  const task = { taskId: "t1", status: "working", ...times };
  const world = await createSignInWorld(signIn, {}, (server) => {
    server.server.registerCapabilities({ extensions: { [tasks]: {} } });
    server.registerTool("work", {}, () => ({ resultType: "task", ...task, content: [] }));
    server.server.setRequestHandler("tasks/get", { params: z.looseObject({}) }, () => task);
  });
  await (await world.connect("modern")).callTool(readNote);
  // The client of the SDK does not accept a task as a result.
  const send = async (method: string, name: string, params: object): Promise<Record<string, unknown>> => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { extensions: { [tasks]: {} } },
    };
    const response = await fetch(world.gateway.endpoint ?? "", {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.gateway.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": name,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    const { result } = events.length === 0 ? JSON.parse(text) : events.at(-1);
    return result;
  };
  const { taskId } = await send("tools/call", "notes__work", { name: "notes__work" });
  await world.authorization.endGrants();
  world.clock.leap(3_600_000);
  expect(await send("tasks/get", String(taskId), { taskId })).toMatchObject({ taskId, status: "working" });
  expect(world.opened).toHaveLength(2);
});

test.each(["legacy", "modern"] as const)(
  "[TS-D-SIGNIN-1] asks for a new sign-in when a %s client gets a skill, and returns the skill",
  async (mode) => {
    const files = { "pdf/SKILL.md": "---\nname: pdf\ndescription: Reads a file.\n---\nRead it.\n" };
    const skills = await SkillsExtension.load(memorySkillFiles(files));
    const world = await createSignInWorld(signIn, {}, (server) => void skills.attach(server));
    const connected = await world.connect(mode);
    await connected.callTool(readNote);
    const client = new SkillsClient(await world.connect(mode));
    const [listed] = (await client.list()).skills;
    await world.authorization.endGrants();
    world.clock.leap(3_600_000);
    const { skill } = await client.get(listed?.uri ?? "");
    expect(skill.frontmatter.description).toBe("Reads a file.");
    expect(world.opened).toHaveLength(2);
  },
);
