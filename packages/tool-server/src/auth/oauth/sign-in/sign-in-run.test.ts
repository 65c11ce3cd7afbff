import { expect, test, vi } from "vitest";
import { waiting } from "../../../waiting.test.helper.js";
import { vaultKeyOf } from "../login-store.js";
import { browse, createOAuthWorld } from "../oauth-world.test.helper.js";
import type { Ask, Redirector, SignInPrompt } from "./ask.js";
import { loopback } from "./loopback.js";

interface Shown {
  readonly prompt: SignInPrompt;
  readonly signal: AbortSignal;
  decline(reason: unknown): void;
}

/** A user who is shown prompts, and does nothing. */
function createWaiter(): { readonly ask: Ask; readonly shown: Shown[] } {
  const shown: Shown[] = [];
  const show: Ask["show"] = (prompt, signal) =>
    new Promise((_, decline) => {
      shown.push({ prompt, signal, decline });
    });
  return { ask: { show }, shown };
}

const isShown = (user: ReturnType<typeof createWaiter>): Promise<void> =>
  vi.waitFor(() => expect(user.shown).toHaveLength(1), waiting);

test("a sign-in is shown to everybody who needs it, also to one who comes later, and one of them ends it for all", async () => {
  const session = (await createOAuthWorld()).session();
  const [first, second, late] = [createWaiter(), createWaiter(), createWaiter()];
  const early = [session.signIn(first.ask), session.signIn(second.ask)];
  await isShown(first);
  const all = [...early, session.signIn(late.ask)];
  const prompts = [first, second, late].map(({ shown }) => shown[0]?.prompt);
  expect(new Set(prompts).size).toBe(1);
  await browse(prompts[0]?.way.url ?? "");
  expect(new Set(await Promise.all(all)).size).toBe(1);
  for (const { shown } of [first, second, late]) {
    expect(shown).toHaveLength(1);
    expect(shown[0]?.signal.aborted).toBe(true);
  }
});

test.each([
  ["later", (reason: Error) => new Promise<undefined>((_, reject) => setImmediate(reject, reason))],
  [
    "at once, by throwing",
    (reason: Error) => {
      throw reason;
    },
  ],
])("one who declines a sign-in %s leaves it, and the others finish it", async (_, show) => {
  const session = (await createOAuthWorld()).session();
  const other = createWaiter();
  const declined = session.signIn({ show: () => show(new Error("no time")) });
  const signedIn = session.signIn(other.ask);
  await expect(declined).rejects.toMatchObject({
    code: "SIGN_IN_FAILED",
    message: expect.stringContaining("the sign-in was cancelled: no time"),
  });
  expect(session.isSigningIn).toBe(true);
  await browse(other.shown[0]?.prompt.way.url ?? "");
  expect((await signedIn).record.accessToken).toMatch(/^access-/);
  expect(await session.store.readFailure()).toBeUndefined();
});

test("a sign-in that the last of several users declines fails with their reason", async () => {
  const session = (await createOAuthWorld()).session();
  const [first, last] = [createWaiter(), createWaiter()];
  const ends = [session.signIn(first.ask), session.signIn(last.ask)].map((signedIn) =>
    signedIn.catch((error) => error),
  );
  await isShown(last);
  first.shown[0]?.decline(new Error("not me"));
  expect(await ends[0]).toMatchObject({ message: expect.stringContaining("not me") });
  last.shown[0]?.decline(new Error("nor me"));
  expect(await ends[1]).toMatchObject({ message: expect.stringContaining("nor me") });
  expect(session.isSigningIn).toBe(false);
  expect((await session.store.readFailure())?.error.message).toContain("nor me");
});

test("one who leaves while a prompt is shown is not waited for, and the sign-in ends with the last", async () => {
  const session = (await createOAuthWorld()).session();
  const [first, last] = [createWaiter(), createWaiter()];
  const leaving = [new AbortController(), new AbortController()];
  const ends = [first, last].map(({ ask }, index) => session.signIn(ask, {}, leaving[index]?.signal));
  await isShown(last);
  leaving[0]?.abort(new Error("gone"));
  await expect(ends[0]).rejects.toThrow("gone");
  expect([first, last].map(({ shown }) => shown[0]?.signal.aborted)).toEqual([true, false]);
  // Too late: it has left already.
  first.shown[0]?.decline(new Error("no"));
  leaving[1]?.abort(new Error("gone too"));
  await expect(ends[1]).rejects.toThrow("gone too");
  expect(last.shown[0]?.signal.aborted).toBe(true);
  expect([session.isSigningIn, await session.store.readFailure()]).toEqual([false, undefined]);
});

test("callers with the same Ask are shown a sign-in once, and it stays until the last of them leaves", async () => {
  const session = (await createOAuthWorld()).session();
  const user = createWaiter();
  const leaving = new AbortController();
  const left = session.signIn(user.ask, {}, leaving.signal);
  const signedIn = session.signIn(user.ask);
  await isShown(user);
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect(user.shown.map(({ signal }) => signal.aborted)).toEqual([false]);
  await browse(user.shown[0]?.prompt.way.url ?? "");
  expect((await signedIn).record.accessToken).toMatch(/^access-/);
});

test("a question to one who has left does not delay the sign-in of the others", async () => {
  const session = (await createOAuthWorld(["endpoint-other-origin"])).session();
  const [leaver, user] = [createWaiter(), createWaiter()];
  const leaving = new AbortController();
  const confirm = vi.fn(
    (_: unknown, signal: AbortSignal) =>
      new Promise<boolean>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const left = session.signIn({ ...leaver.ask, confirm }, {}, leaving.signal);
  const signedIn = session.signIn({ ...user.ask, confirm: async () => true });
  await vi.waitFor(() => expect(confirm).toHaveBeenCalledTimes(1), waiting);
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await isShown(user);
  await browse(user.shown[0]?.prompt.way.url ?? "");
  expect((await signedIn).record.accessToken).toMatch(/^access-/);
  expect(leaver.shown).toEqual([]);
});

test("the page of a sign-in ends when another process has signed in, and not when it has only renewed or got fewer scopes", async () => {
  const world = await createOAuthWorld();
  // With another redirect, because both listen at the same time.
  const [here, elsewhere] = [world.session(), world.session({ redirect: { host: "localhost" } })];
  const first = await elsewhere.signIn(world.person);
  const waiter = createWaiter();
  const signedIn = here.signIn(waiter.ask, { scopes: ["notes:write"] });
  await isShown(waiter);
  await (await elsewhere.tokens())?.replace(first);
  await elsewhere.signIn(world.person);
  expect(here.isSigningIn).toBe(true);
  const { revision } = await elsewhere.signIn(world.person, { scopes: ["notes:write"] });
  expect((await signedIn).revision).toBe(revision);
});

test("a sign-in that was abandoned before its page was shown watches the vault no longer", async () => {
  const world = await createOAuthWorld();
  let watchers = 0;
  const vault = {
    ...world.vault,
    watch: (listener: () => void) => {
      watchers += 1;
      const stop = world.vault.watch(listener);
      return () => {
        watchers -= 1;
        stop();
      };
    },
  };
  const leaving = new AbortController();
  const redirector: Redirector = {
    async open(context, wanted) {
      leaving.abort(new Error("gone"));
      return loopback.open(context, wanted);
    },
  };
  const left = world.session({ vault }).signIn({ redirector, show: async () => undefined }, {}, leaving.signal);
  await expect(left).rejects.toThrow("gone");
  await expect.poll(() => watchers).toBe(0);
});

test("a user who joins a sign-in that waits for another process is shown a page at once", async () => {
  const world = await createOAuthWorld();
  const key = vaultKeyOf(world.session().context, "", "sign-in");
  const release = new AbortController();
  const held = world.vault.withLock(
    key,
    () => new Promise<void>((resolve) => release.signal.addEventListener("abort", () => resolve())),
  );
  const login = world.session();
  const [call, user] = [createWaiter(), createWaiter()];
  const waiting = login.signIn(call.ask, { reason: "first" });
  await expect.poll(() => world.events.some(({ kind }) => kind === "waiting")).toBe(true);
  const asked = login.signIn(user.ask);
  await isShown(user);
  await browse(user.shown[0]?.prompt.way.url ?? "");
  expect((await asked).revision).toBe((await waiting).revision);
  release.abort();
  await held;
});
