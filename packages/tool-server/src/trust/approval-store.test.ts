import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ApprovalSubject } from "./approval.js";
import { createApprovalStore, defaultApprovalsPath } from "./approval-store.js";
import { createFolder, entryOf, entryOfText, subjectOf } from "./trust.test.helper.js";

const isPosix = process.platform !== "win32";

async function subject(server = "s"): Promise<ApprovalSubject> {
  const { path, write } = await createFolder();
  await write(".mcp.json", "{}");
  return subjectOf(entryOf({ command: "npx", args: ["-y", "x"], env: { TOKEN: "${TOKEN}" } }, server), path);
}

const unreadable = (words: string | RegExp): object => ({
  code: "APPROVALS_UNREADABLE",
  message: expect.stringMatching(words),
});

test("[TS-D-TRUST-4] an approval is found by its configuration and server only", async () => {
  const { path } = await createFolder();
  const [one, two] = [await subject("a"), await subject("b")];
  const file = join(path, "deep", "er", "approvals.json");
  const store = createApprovalStore({ path: file });
  expect(await store.find(one)).toBeUndefined();
  expect(await store.list()).toEqual([]);
  await store.approve(one);
  await store.approve(two);
  const again = createApprovalStore({ path: file });
  expect(await again.find(one)).toEqual({
    ...one,
    fingerprint: { ...one.fingerprint, uncovered: undefined },
    approvedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  expect(await again.find({ ...one, server: "b" })).toBeUndefined();
  expect(await again.find({ ...one, configuration: two.configuration })).toBeUndefined();
  expect((await again.list()).map(({ server }) => server)).toEqual(["a", "b"]);
});

test("[TS-D-TRUST-4] a new approval replaces the old one, and an approval can be revoked", async () => {
  const { path } = await createFolder();
  const store = createApprovalStore({ path: join(path, "approvals.json") });
  const one = await subject();
  await store.approve(one);
  await store.approve({ ...one, entry: { command: "other" } });
  expect(await store.list()).toMatchObject([{ entry: { command: "other" } }]);
  expect(await store.revoke(one)).toBe(true);
  expect(await store.revoke(one)).toBe(false);
  expect(await store.list()).toEqual([]);
});

test("[TS-D-TRUST-4] hostile names are preserved, and neither secrets nor variable values are stored", async () => {
  const folder = await createFolder();
  await folder.write(".mcp.json", "{}");
  const store = createApprovalStore({ path: join(folder.path, "approvals.json") });
  process.env.WIRESCOPE_TEST_VALUE = "the-value-of-a-variable";
  const entry = entryOfText(
    '{"__proto__": {"command": "\\u001b[2J", "env": {"__proto__": "${WIRESCOPE_TEST_VALUE}", "API_KEY": "hunter2hunter2"}}}',
  );
  const hostile = await subjectOf(entry, folder.path);
  await store.approve(hostile);
  delete process.env.WIRESCOPE_TEST_VALUE;
  const found = await store.find(hostile);
  expect(JSON.stringify(found?.entry)).toBe(JSON.stringify(hostile.entry));
  expect(Object.hasOwn(Object(Object(found?.entry).env), "__proto__")).toBe(true);
  const text = await readFile(store.path, "utf8");
  expect(text).toContain("${WIRESCOPE_TEST_VALUE}");
  expect(text).not.toContain("the-value-of-a-variable");
  expect(text).not.toContain("hunter2");
});

test.runIf(isPosix)(
  "[TS-D-TRUST-4] file and folder are accessible only to their user, whatever the umask is",
  async () => {
    const { path } = await createFolder();
    const store = createApprovalStore({ path: join(path, "wirescope", "approvals.json") });
    const mask = process.umask(0);
    try {
      await store.approve(await subject());
    } finally {
      process.umask(mask);
    }
    expect((await stat(join(path, "wirescope"))).mode & 0o777).toBe(0o700);
    for (const name of await readdir(join(path, "wirescope"))) {
      expect((await stat(join(path, "wirescope", name))).mode & 0o777, name).toBe(0o600);
    }
  },
);

test.each([
  ["", /invalid JSON/],
  ["{", /invalid JSON at line 1, column 2/],
  ['{"tokens": {}}', /is not an approvals file/],
  ["[]", /is not an approvals file/],
  ['{"format": "wirescope-approvals", "version": 2, "approvals": []}', /another version/],
  ['{"format": "wirescope-approvals", "version": 1, "approvals": [{}]}', /approval 1 of 1 is incomplete/],
  ['{"format": "wirescope-approvals", "version": 1, "approvals": [], "approvals": []}', /invalid JSON/],
  ["\xff", /invalid JSON/],
])(
  "[TS-D-TRUST-5] a file that is %j is reported and preserved, never treated as empty and never overwritten",
  async (text, words) => {
    const { path, write } = await createFolder();
    const file = await write("approvals.json", text, 0o600);
    const store = createApprovalStore({ path: file });
    const one = await subject();
    await expect(store.find(one)).rejects.toMatchObject(unreadable(words));
    await expect(store.list()).rejects.toMatchObject(unreadable(words));
    await expect(store.approve(one)).rejects.toMatchObject(unreadable(words));
    await expect(store.revoke(one)).rejects.toMatchObject(unreadable(words));
    expect(await readFile(file, "utf8")).toBe(text);
    expect((await readdir(path)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  },
);

test("[TS-D-TRUST-5] each part of an approval is required, and the message quotes nothing from the file", async () => {
  const { path } = await createFolder();
  const store = createApprovalStore({ path: join(path, "approvals.json") });
  await store.approve(await subject());
  const good = JSON.parse(await readFile(store.path, "utf8"));
  const [approval] = good.approvals;
  const broken = [
    ...Object.keys(approval).map((key) => ({ ...approval, [key]: undefined })),
    ...Object.keys(approval.fingerprint).map((key) => ({
      ...approval,
      fingerprint: { ...approval.fingerprint, [key]: undefined },
    })),
    { ...approval, server: 1 },
    { ...approval, fingerprint: { ...approval.fingerprint, files: [{ field: "a", path: "b", state: "fine" }] } },
    { ...approval, fingerprint: { ...approval.fingerprint, files: [{ field: "a", path: "b", state: "content" }] } },
  ];
  for (const one of broken) {
    await writeFile(store.path, JSON.stringify({ ...good, approvals: [one] }));
    await expect(store.list(), JSON.stringify(one)).rejects.toMatchObject(unreadable(/approval 1 of 1 is incomplete/));
  }
  await writeFile(store.path, JSON.stringify({ ...good, approvals: [approval, approval] }));
  await expect(store.list()).rejects.toMatchObject(unreadable(/two approvals for one entry/));
});

test("[TS-D-TRUST-5] a file that cannot be read for another reason is not treated as empty either", async () => {
  const { path, write } = await createFolder();
  await mkdir(join(path, "folder"));
  await expect(createApprovalStore({ path: join(path, "folder") }).list()).rejects.toMatchObject(
    unreadable(/not a file/),
  );
  const file = await write("file", "");
  const below = createApprovalStore({ path: join(file, "approvals.json") });
  await expect(below.list()).rejects.toMatchObject(unreadable(/not a folder/));
  await expect(below.approve(await subject())).rejects.toMatchObject(unreadable(/Cannot write/));
  await symlink(join(path, "away", "approvals.json"), join(path, "dangling"));
  const dangling = createApprovalStore({ path: join(path, "dangling") });
  await expect(dangling.list()).rejects.toMatchObject(unreadable(/Cannot read/));
  await expect(dangling.approve(await subject())).rejects.toMatchObject(unreadable(/Cannot read/));
  await writeFile(join(path, "latin"), Buffer.from([0x7b, 0xff, 0x7d]), { mode: 0o600 });
  await expect(createApprovalStore({ path: join(path, "latin") }).list()).rejects.toMatchObject(
    unreadable(/not UTF-8/),
  );
});

test.runIf(isPosix)(
  "[TS-D-TRUST-5] a file or folder that other users can write to is rejected, because they could approve entries",
  async () => {
    const { path } = await createFolder();
    const store = createApprovalStore({ path: join(path, "own", "approvals.json") });
    await store.approve(await subject());
    for (const mode of [0o620, 0o602]) {
      await chmod(store.path, mode);
      await expect(store.list()).rejects.toMatchObject({
        ...unreadable(/other users can write to it\./),
        advice: "Remove that permission with chmod go-w.",
      });
    }
    await chmod(store.path, 0o600);
    await chmod(join(path, "own"), 0o777);
    await expect(store.list()).rejects.toMatchObject(unreadable(/folder .* other users can write to it/));
    await rm(store.path);
    await expect(store.approve(await subject())).rejects.toMatchObject(
      unreadable(/folder .* other users can write to it/),
    );
  },
);

test.runIf(process.getuid?.() === 0)("[TS-D-TRUST-5] a file of another user is rejected", async () => {
  const { path } = await createFolder();
  const store = createApprovalStore({ path: join(path, "approvals.json") });
  await store.approve(await subject());
  await chown(store.path, 4711, 4711);
  await expect(store.list()).rejects.toMatchObject(unreadable(/owned by another user \(4711\)/));
});

test("[TS-D-TRUST-4] a file that is a link stays one", async () => {
  const [{ path }, dots] = [await createFolder(), await createFolder()];
  const real = createApprovalStore({ path: join(dots.path, "approvals.json") });
  await real.approve(await subject("a"));
  await symlink(real.path, join(path, "approvals.json"));
  await createApprovalStore({ path: join(path, "approvals.json") }).approve(await subject("b"));
  expect((await real.list()).map(({ server }) => server)).toEqual(["a", "b"]);
});

test("[TS-D-TRUST-4] a file that cannot be written is reported with the reason and advice", async () => {
  const { write } = await createFolder();
  const store = createApprovalStore({ path: join(await write("config", ""), "wirescope", "approvals.json") });
  await expect(store.approve(await subject())).rejects.toMatchObject(
    unreadable(/part of its path is not a folder \(ENOTDIR\)\. Check that its folder can be written/),
  );
});

test("[TS-D-TRUST-4] many concurrent approvals in one process are all stored", async () => {
  const { path } = await createFolder();
  const one = await subject();
  const file = join(path, "approvals.json");
  const stores = [createApprovalStore({ path: file }), createApprovalStore({ path: file })];
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => stores[index % 2]?.approve({ ...one, server: `s${index}` })),
  );
  expect(await stores[0]?.list()).toHaveLength(20);
});

test("[TS-D-TRUST-4] the file is in XDG_CONFIG_HOME or ~/.config, and a relative path is ignored", () => {
  expect(defaultApprovalsPath({ XDG_CONFIG_HOME: "/x" }, "/home/u")).toBe("/x/wirescope/approvals.json");
  for (const environment of [{}, { XDG_CONFIG_HOME: "" }, { XDG_CONFIG_HOME: "conf" }]) {
    expect(defaultApprovalsPath(environment, "/home/u")).toBe("/home/u/.config/wirescope/approvals.json");
  }
});
