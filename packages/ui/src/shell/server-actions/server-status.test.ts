import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { AuthMethod, ConnectivityState, type Server, ServerSchema } from "@wirescope/gateway/admin";
import { expect, test } from "vitest";
import { authenticationText, checkCommand, finalExpiryMs, serverState, whyCommand } from "./server-status.js";

function failing(code: string, problem = "It failed.", advice = ""): Server {
  const failure = { code, message: `${problem} ${advice}`, problem, advice };
  return create(ServerSchema, { name: "notes", state: ConnectivityState.TRANSIENT_FAILURE, failure });
}

test("describes the state of a server as the terminal does, with the first thing to do", () => {
  expect(serverState(create(ServerSchema, { state: ConnectivityState.READY }))).toEqual({
    tone: "ready",
    word: "connected",
    reason: undefined,
    remedy: undefined,
  });
  expect(serverState(failing("SIGN_IN_NEEDED"))).toEqual({
    tone: "waiting",
    word: "not signed in",
    reason: "sign-in required",
    remedy: "sign in",
  });
  expect(serverState(failing("NOT_TRUSTED"))).toMatchObject({
    tone: "waiting",
    word: "not approved",
    remedy: "approve",
  });
  expect(serverState(failing("VARIABLE_UNUSABLE"))).toMatchObject({ tone: "failing", remedy: "check" });
  expect(serverState(failing("UNAUTHORIZED", "The token expired.", "Set LEDGER_TOKEN."))).toEqual({
    tone: "failing",
    word: "credential refused",
    reason: "The token expired. Set LEDGER_TOKEN.",
    remedy: "explain",
  });
});

test("shortens a long reason, and keeps what to do about it", () => {
  expect(serverState(failing("UNAUTHORIZED", "x".repeat(500))).reason).toHaveLength(240);
  const { reason } = serverState(failing("UNAUTHORIZED", "x".repeat(500), "Set BILLING_KEY."));
  expect(reason).toBe(`${"x".repeat(239)}… Set BILLING_KEY.`);
});

test("describes the authentication of a server as the terminal does", () => {
  const authentication = { method: AuthMethod.OAUTH, summary: "OAuth, not signed in", oauth: { signedIn: false } };
  const connected = create(ServerSchema, { state: ConnectivityState.READY, authentication });
  expect(authenticationText(connected)).toBe("none");
  expect(authenticationText({ ...failing("SERVER_UNREACHABLE"), authentication: connected.authentication })).toBe("–");
  expect(authenticationText({ ...failing("SIGN_IN_NEEDED"), authentication: connected.authentication })).toBe(
    "OAuth, not signed in",
  );
  expect(authenticationText(failing("NOT_TRUSTED"))).toBe("–");
});

test("reports the expiry of a token only if it cannot be refreshed", () => {
  const signedIn = (renewable: boolean): Server => {
    const oauth = { signedIn: true, renewable, expireTime: timestampFromMs(5_000) };
    return create(ServerSchema, { authentication: { method: AuthMethod.OAUTH, oauth } });
  };
  expect([finalExpiryMs(signedIn(false)), finalExpiryMs(signedIn(true))]).toEqual([5_000, undefined]);
});

test("quotes names in commands that are copied into a shell", () => {
  expect(whyCommand("notes")).toBe("wirescope why notes --endpoint");
  expect(whyCommand("it's; rm -rf")).toBe("wirescope why 'it'\\''s; rm -rf' --endpoint");
  expect(checkCommand(create(ServerSchema, { configuration: "/a b/.mcp.json" }))).toBe(
    "wirescope check '/a b/.mcp.json'",
  );
});
