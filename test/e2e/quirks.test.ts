import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeQuirk, type Quirk, quirkTable, startQuirks } from "@wirescope/quirks";
import { expect, onTestFinished, test } from "vitest";
import { browsingPerson, createLoginWorld } from "./login-world.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

const program = fileURLToPath(new URL("../../packages/quirks/bin/wirescope-quirks.js", import.meta.url));

test("runs wirescope-quirks, which prints its address and its requests, and ends on a signal", async () => {
  const run = startProcess(process.execPath, [program, "--json", "--quirk", "metadata-html"]);
  const { url, issuer, quirks } = JSON.parse(await untilPrinted(run, /\n/));
  expect(quirks).toEqual(["metadata-html"]);

  const world = await createLoginWorld();
  world.configure({ notes: { type: "http", url } });
  const { code, stdout } = await world.run(["call", "notes", "scopes", "--trust"], { person: browsingPerson() });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "notes:read offline_access\n" });
  expect((await world.run(["auth", "--trust"])).stdout).toContain(issuer);
  await expect.poll(() => run.stderr).toMatch(/^authorization server: GET \/\.well-known\/openid-configuration$/m);
  await expect.poll(() => run.stderr).toMatch(/^tool server: POST \/mcp {2}tools\/call, Authorization: Bearer …$/m);
  run.process.kill("SIGTERM");
  expect(await run.ended).toBe(0);
});

test("lists each switch in docs/quirks.md with the text of the table", () => {
  const text = readFileSync(new URL("../../docs/quirks.md", import.meta.url), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows).toEqual(
    (Object.keys(quirkTable) as Quirk[]).map((quirk) => {
      const { what, seen, client } = describeQuirk(quirk);
      return `| \`${quirk}\` | ${what} | ${seen} | ${client} |`;
    }),
  );
});

test("[TS-D-OAUTH-1] asks the person at the terminal if a tool server names another authorization server", async () => {
  const quirks = await startQuirks({ quirks: ["issuer-changes"] });
  onTestFinished(() => quirks.close());
  const world = await createLoginWorld();
  world.configure({ notes: { type: "http", url: quirks.tool.url } });
  const call = ["call", "notes", "scopes", "--trust"];
  const browse = browsingPerson();
  expect((await world.run(call, { person: browse })).code).toBe(0);
  const reply =
    (word: string): typeof browse =>
    (question, ...rest) =>
      question.startsWith("Sign in there?") ? Promise.resolve(word) : browse(question, ...rest);
  const no = await world.run(call, { person: reply("") });
  expect(no.code).toBe(1);
  expect(no.stderr).toContain(
    `notes now uses another authorization server: ${quirks.other.issuer} instead of ${quirks.authorization.issuer}.`,
  );
  expect(quirks.other.requests.filter(({ method }) => method === "POST")).toEqual([]);
  const yes = await world.run(call, { person: reply("y") });
  expect(yes).toMatchObject({ code: 0, stdout: "notes:read offline_access\n" });
  expect((await world.run(["auth", "--trust"])).stdout).toContain(quirks.other.issuer);
});
