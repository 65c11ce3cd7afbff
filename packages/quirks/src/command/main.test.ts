import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { quirkTable } from "../quirk-table.js";
import { main } from "./main.js";

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command, calls `use` with its output, and then interrupts it. */
async function run(argv: readonly string[], use: (out: string) => Promise<unknown> = async () => {}): Promise<Run> {
  let out = "";
  let err = "";
  let interrupt = (): void => {};
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  let isUsed = false;
  const running = main(argv, {
    out(text) {
      out += text;
      if (!/127\.0\.0\.1/.test(out) || isUsed) return;
      isUsed = true;
      void use(out).finally(interrupt);
    },
    err: (text) => {
      err += text;
    },
    interrupted,
  });
  return { code: await running, out, err };
}

test("lists every switch and what it does with --list, and all details with --json", async () => {
  const { code, out } = await run(["--list"]);
  expect(code).toBe(0);
  expect(out.trim().split("\n")).toHaveLength(Object.keys(quirkTable).length);
  expect(out).toMatch(/^metadata-silent +Metadata requests get no response\.$/m);
  expect(JSON.parse((await run(["--list", "--json"])).out)).toEqual(quirkTable);
});

test("prints the URL for a client, and what a correct client does", async () => {
  const { code, out } = await run(["--quirk", "metadata-html", "--quirk", "pkce-plain"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^Point a client at {5}http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
  expect(out).toMatch(/^metadata-html: .* A good client tries the urls of OpenID Connect next\.$/m);
  expect((await run([])).out).toContain("No switch is on");
});

test("prints one line with --json, logs requests without secrets, and ends at an interrupt", async () => {
  let url = "";
  const { out, err } = await run(["--json", "--quirk", "refresh-dead"], async (line) => {
    const printed = JSON.parse(line);
    url = printed.url;
    expect(printed).toEqual({ url, issuer: expect.stringMatching(/^http:/), quirks: ["refresh-dead"] });
    await fetch(url, {
      method: "POST",
      headers: { authorization: "Bearer my-token", "content-type": "application/json" },
      body: '{"id": 1, "method": "tools/list\\u001b[2J"}',
    });
    await fetch(`${printed.issuer}/token?state=my-state`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: "my-refresh-token" }),
    });
  });
  expect(out.trim().split("\n")).toHaveLength(1);
  expect(err.split("\n")).toEqual([
    "tool server: POST /mcp  tools/list?[2J, Authorization: Bearer …",
    "authorization server: POST /token  state, grant_type=refresh_token, refresh_token",
    "",
  ]);
  await expect(fetch(url)).rejects.toThrow();
});

test("logs requests that a client should not send under the name elsewhere", async () => {
  const { err } = await run(["--json", "--quirk", "resource-redirects-away"], async (line) => {
    const { url } = JSON.parse(line);
    // A careless client: fetch removes the header, but follows the redirect.
    await fetch(url, { method: "POST", headers: { authorization: "Bearer x" }, body: "{}" });
  });
  expect(err).toMatch(/^elsewhere: POST \/elsewhere/m);
});

describe("wrong usage", () => {
  test.each([
    [["--quirk", "metadata-htm"], 'Unknown switch "metadata-htm". Did you mean one of metadata-html, '],
    [["--quirk", "zzz"], 'Unknown switch "zzz". See wirescope-quirks --list.'],
    [["--port", "x"], '--port must be an integer up to 65535, not "x".'],
    [["--lifetime", "-1"], "lifetime"],
    [["--nothing"], "Unknown option '--nothing'"],
    [["word"], "Unexpected argument 'word'"],
  ])("explains what is wrong with %j", async (argv, message) => {
    const { code, out, err } = await run(argv);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  test("fails with an error if its port is in use", async () => {
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void squatter.close());
    const { port } = squatter.address() as { port: number };
    const { code, err } = await run(["--port", String(port)]);
    expect(code).toBe(1);
    expect(err).toContain(`EADDRINUSE`);
  });

  test("shows all options with --help", async () => {
    const { code, out } = await run(["--help"]);
    expect(code).toBe(0);
    for (const option of ["--list", "--quirk", "--port", "--lifetime", "--needs", "--json"])
      expect(out).toContain(option);
  });
});
