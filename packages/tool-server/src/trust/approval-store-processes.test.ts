import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { ApprovalSubject } from "./approval.js";
import { createApprovalStore } from "./approval-store.js";
import { createFolder, entryOf, subjectOf } from "./trust.test.helper.js";

const built = fileURLToPath(new URL("../../dist/trust/", import.meta.url));

/** A separate process with the built package, and the lines that it prints. */
function run(program: string): { child: ChildProcess; lines: AsyncIterator<string> } {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  if (child.stdout === null) throw new Error("There is no stdout.");
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

async function plugin(): Promise<{ path: string; file: string; subject: ApprovalSubject }> {
  const { path, write } = await createFolder();
  await write(".mcp.json", "{}");
  const entry = entryOf({ command: "x", args: ["a".repeat(20_000)] });
  return { path, file: join(path, "config", "approvals.json"), subject: await subjectOf(entry, path) };
}

test("[TS-D-TRUST-4] approvals from several processes at once are all stored", async () => {
  const { file, subject } = await plugin();
  const children = [0, 1, 2].map((number) =>
    run(`
      import { createApprovalStore } from ${JSON.stringify(join(built, "approval-store.js"))};
      const store = createApprovalStore({ path: ${JSON.stringify(file)}, waitMs: 30_000 });
      const subject = ${JSON.stringify({ ...subject, entry: {} })};
      for (let i = 0; i < 8; i += 1) await store.approve({ ...subject, server: "${number}-" + i });
    `),
  );
  expect(await Promise.all(children.map(({ child }) => ended(child)))).toEqual([0, 0, 0]);
  const servers = (await createApprovalStore({ path: file }).list()).map(({ server }) => server);
  const expected = [0, 1, 2].flatMap((number) => [0, 1, 2, 3, 4, 5, 6, 7].map((i) => `${number}-${i}`));
  expect(servers.toSorted()).toEqual(expected);
});

test("[TS-D-TRUST-4] a process killed before it replaces the file leaves the old file intact", async () => {
  const { file, subject } = await plugin();
  const store = createApprovalStore({ path: file });
  await store.approve(subject);
  const before = await readFile(file, "utf8");
  const { child, lines } = run(`
    import { writeFileSync } from "node:fs";
    import { temporaryNameOf } from ${JSON.stringify(join(built, "../files/private-file.js"))};
    import { withFileLock } from ${JSON.stringify(join(built, "../files/file-lock.js"))};
    import { steadyClock } from ${JSON.stringify(join(built, "../clock.js"))};
    await withFileLock(${JSON.stringify(`${file}.lock`)}, () => {
      writeFileSync(temporaryNameOf(${JSON.stringify(file)}), "half of it");
      console.log("complete, and not yet in place");
      setInterval(() => {}, 1000);
      return new Promise(() => {});
    }, { clock: steadyClock });
  `);
  expect((await lines.next()).value).toBe("complete, and not yet in place");
  child.kill("SIGKILL");
  await ended(child);
  expect(await readFile(file, "utf8")).toBe(before);
  expect(await store.find(subject)).toBeDefined();
  // Neither the lock nor the leftovers of the dead process block the next one.
  await store.approve({ ...subject, server: "next" });
  expect(await store.list()).toHaveLength(2);
  expect((await readdir(join(file, ".."))).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

test("[TS-D-TRUST-4] a process killed at any moment leaves a valid file with every confirmed approval", async () => {
  const { file, subject } = await plugin();
  const store = createApprovalStore({ path: file });
  let kept = 0;
  for (let round = 0; round < 3; round += 1) {
    const { child, lines } = run(`
      import { createApprovalStore } from ${JSON.stringify(join(built, "approval-store.js"))};
      const store = createApprovalStore({ path: ${JSON.stringify(file)} });
      const subject = ${JSON.stringify(subject)};
      for (let i = ${kept}; ; i += 1) {
        await store.approve({ ...subject, server: "s" + i });
        console.log("s" + i);
      }
    `);
    const confirmed: string[] = [];
    for (let count = 0; count <= round; count += 1) confirmed.push((await lines.next()).value);
    // An approval takes a few milliseconds, so each round kills it at another moment.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 6));
    child.kill("SIGKILL");
    await ended(child);
    for (let line = await lines.next(); line.done !== true; line = await lines.next()) confirmed.push(line.value);
    const servers = (await store.list()).map(({ server }) => server);
    expect(servers).toEqual(expect.arrayContaining(confirmed));
    expect(servers.length - kept - confirmed.length).toBeOneOf([0, 1]);
    kept = servers.length;
  }
  await store.approve({ ...subject, server: "last" });
  expect(await store.list()).toHaveLength(kept + 1);
});
