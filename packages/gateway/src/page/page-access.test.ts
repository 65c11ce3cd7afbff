import { createHash, createHmac } from "node:crypto";
import { expect, test } from "vitest";
import {
  createPageAccess,
  type PageAccess,
  type PageLink,
  type RedeemedTicket,
  type SessionStore,
  type StoredSession,
} from "./page-access.js";

const ticketOf = (link: string): string => new URL(link).searchParams.get("ticket") ?? "";
const pairOf = (cookie: string | undefined): string => cookie?.split(";")[0] ?? "";

test("[TS-D-PAGE-1] accepts a ticket once, and sets a cookie that neither scripts nor other sites receive", () => {
  const access = createPageAccess();
  const ticket = ticketOf(access.linkTo("http://127.0.0.1:4690"));
  const redeemed = access.redeem(ticket, "127.0.0.1:4690", false);
  expect(redeemed?.cookie).toMatch(
    /^wirescope_page_4690=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  expect(access.redeem(ticket, "127.0.0.1:4690", false)).toBeUndefined();
  const session = access.find(`other=1; ${pairOf(redeemed?.cookie)}`, undefined);
  expect(session?.rights).toBe("administrator");
  expect([redeemed?.key, undefined, "", "wrong"].map((key) => session?.hasKey(key))).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test("[TS-D-PAGE-1] expires a link after 10 minutes, and its cookie after 12 hours", () => {
  let now = 0;
  const access = createPageAccess({ now: () => now });
  const [first, second] = [1, 2].map(() => ticketOf(access.linkTo("http://gateway")));
  now = 9 * 60_000;
  const { cookie } = access.redeem(first ?? "", undefined, true) ?? {};
  expect(cookie).toMatch(/; Secure$/);
  now = 10 * 60_000;
  expect(access.redeem(second ?? "", undefined, true)).toBeUndefined();
  expect(access.find(pairOf(cookie), undefined)).toBeDefined();
  now += 12 * 3_600_000;
  expect(access.find(pairOf(cookie), undefined)).toBeUndefined();
});

test("[TS-D-PAGE-1] keeps the newest 64 of any number of tickets and sessions", () => {
  const access = createPageAccess();
  const tickets = Array.from({ length: 10_000 }, () => ticketOf(access.linkTo("http://gateway")));
  const allRedeemed = tickets.map((ticket) => access.redeem(ticket, undefined, false));
  expect(allRedeemed.filter((redeemed) => redeemed !== undefined)).toHaveLength(64);
  expect(allRedeemed.at(-1)).toBeDefined();
  const first = pairOf(allRedeemed.find((redeemed) => redeemed !== undefined)?.cookie);
  for (let count = 0; count < 64; count++) access.redeem(ticketOf(access.linkTo("http://gateway")), undefined, false);
  expect(access.find(first, undefined)).toBeUndefined();
});

test("[TS-D-PAGE-6] restores sessions after a restart from stored hashes, but neither tickets nor expired sessions", () => {
  let now = 1_000;
  let stored: readonly StoredSession[] = [];
  const store: SessionStore = {
    read: () => stored,
    write(sessions) {
      stored = sessions;
    },
  };
  const open = (): PageAccess => createPageAccess({ store, now: () => now });
  const access = open();
  const ticket = ticketOf(access.linkTo("http://gateway"));
  const unused = ticketOf(access.linkTo("http://gateway"));
  const { key = "", cookie } = access.redeem(ticket, undefined, false) ?? {};
  const text = JSON.stringify(stored);
  for (const secret of [key, pairOf(cookie).split("=")[1] ?? ""]) expect(text).not.toContain(secret);
  const later = open();
  expect(later.find(pairOf(cookie), undefined)?.hasKey(key)).toBe(true);
  for (const each of [ticket, unused]) expect(later.redeem(each, undefined, false)).toBeUndefined();
  // A user who can write the file cannot create a session that never ends.
  stored = stored.map((session) => ({ ...session, until: Number.MAX_SAFE_INTEGER }));
  expect(open().find(pairOf(cookie), undefined)).toBeUndefined();
  now += 12 * 3_600_000;
  stored = stored.map((session) => ({ ...session, until: now }));
  expect(open().find(pairOf(cookie), undefined)).toBeUndefined();
});

test("forgets a session that the browser ends", () => {
  const access = createPageAccess();
  const cookie = pairOf(access.redeem(ticketOf(access.linkTo("http://gateway")), undefined, false)?.cookie);
  const session = access.find(cookie, undefined);
  if (session !== undefined) access.end(session);
  expect(access.find(cookie, undefined)).toBeUndefined();
});

test("[TS-D-PAGE-1] gives a browser one cookie for the page and one for the pages without JavaScript, however many links it opens", () => {
  const access = createPageAccess();
  const enter = (link: PageLink): RedeemedTicket | undefined =>
    access.redeem(ticketOf(access.linkTo("http://gateway", link)), "127.0.0.1:4690", false);
  const nameOf = (redeemed: RedeemedTicket | undefined): string => redeemed?.cookie.split("=")[0] ?? "";
  const [first, second] = [enter({}), enter({ rights: "reader" })];
  expect(nameOf(second)).toBe(nameOf(first));
  // A link to a page without JavaScript does not end the session of an open page.
  const plain = enter({ path: (key) => `/status/${key}/sign-in` });
  expect(nameOf(plain)).not.toBe(nameOf(second));
  const cookies = [plain, second].map((redeemed) => pairOf(redeemed?.cookie)).join("; ");
  expect([plain, second].map((redeemed) => access.find(cookies, redeemed?.key)?.rights)).toEqual([
    "administrator",
    "reader",
  ]);
  // The key of one session is not valid for the other.
  expect(access.find(pairOf(second?.cookie), plain?.key)?.hasKey(plain?.key)).toBe(false);
});

test("[TS-D-PAGE-10] proves that it knows the session, and accepts the proof of the page until the gateway ends", () => {
  let stored: readonly StoredSession[] = [];
  const store: SessionStore = {
    read: () => stored,
    write(sessions) {
      stored = sessions;
    },
  };
  const access = createPageAccess({ store });
  const { key = "", cookie } = access.redeem(ticketOf(access.linkTo("http://gateway")), undefined, false) ?? {};
  const mac = (text: string): string => {
    const keyHash = createHash("sha256").update(key).digest("base64");
    return createHmac("sha256", keyHash).update(text).digest("base64");
  };
  const { salt = "", proof } = access.prove(pairOf(cookie), "nonce") ?? {};
  expect(proof).toBe(mac(`server ${salt} nonce`));
  expect(access.prove("wirescope_page_0=wrong", "nonce")).toBeUndefined();
  const sent = mac(`page ${salt}`);
  expect(access.find(pairOf(cookie), sent)?.hasKey(sent)).toBe(true);
  expect(access.find(pairOf(cookie), proof)?.hasKey(proof)).toBe(false);
  const next = createPageAccess({ store });
  expect(next.find(pairOf(cookie), sent)?.hasKey(sent)).toBe(false);
  expect(next.find(pairOf(cookie), key)?.hasKey(key)).toBe(true);
});
