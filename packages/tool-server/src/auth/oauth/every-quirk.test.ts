import { type Quirk, quirkTable } from "@wirescope/quirks";
import { expect, test } from "vitest";
import type { ToolServerErrorCode } from "../../errors.js";
import { createQuirkyClient, type Outcome } from "./quirky-client.test.helper.js";

interface Expected {
  /** The result of the first call, for which a user has to sign in. */
  readonly first: Outcome;
  /** The results of the second call, before which the access token was revoked, and of the third. */
  readonly second: Outcome;
  readonly third: Outcome;
  /** How often a user is asked to sign in, in total. */
  readonly signIns: number;
}

const works: Expected = { first: "result", second: "result", third: "result", signIns: 1 };
const asksAgain: Expected = { ...works, signIns: 2 };
/** It fails with this code, and then no sign-in is started automatically for a while. */
const fails = (first: ToolServerErrorCode, signIns: number): Expected => ({
  first,
  second: "SIGN_IN_NEEDED",
  third: "SIGN_IN_NEEDED",
  signIns,
});
/** No user is asked, because the server cannot be used. */
const unusable = (code: ToolServerErrorCode): Expected => fails(code, 0);
/** A user was asked, and the response could not be used. */
const refused: Expected = fails("SIGN_IN_FAILED", 1);

/** The expectation for each quirk. Two only end with a time limit, and have separate tests. */
const expectations: Readonly<Record<Exclude<Quirk, "metadata-silent" | "redirect-wrong-state">, Expected>> = {
  "resource-without-metadata": unusable("REGISTRATION_REFUSED"),
  "resource-metadata-html": unusable("REGISTRATION_REFUSED"),
  "resource-metadata-at-root": works,
  "resource-metadata-elsewhere": works,
  "resource-metadata-internal": works,
  "resource-of-another": unusable("AUTHORIZATION_SERVER_INVALID"),
  "resource-with-slash": works,
  "resource-challenge-silent": works,
  "resource-refuses-all": fails("SIGN_IN_NEEDED", 1),
  "resource-wants-more": { first: "FORBIDDEN", second: "FORBIDDEN", third: "FORBIDDEN", signIns: 2 },
  "resource-redirects-away": {
    first: "REDIRECT_REFUSED",
    second: "REDIRECT_REFUSED",
    third: "REDIRECT_REFUSED",
    signIns: 1,
  },
  "issuer-changes": { first: "result", second: "ISSUER_CHANGED", third: "SIGN_IN_NEEDED", signIns: 1 },
  "metadata-html": works,
  "metadata-openid-only": works,
  "metadata-absent": unusable("AUTHORIZATION_SERVER_INVALID"),
  "metadata-failing": unusable("SERVER_FAILED"),
  "metadata-huge": unusable("AUTHORIZATION_SERVER_INVALID"),
  "metadata-redirects-away": unusable("AUTHORIZATION_SERVER_INVALID"),
  "metadata-redirects-within": works,
  "metadata-of-another": unusable("AUTHORIZATION_SERVER_INVALID"),
  "metadata-issuer-slash": works,
  "pkce-absent": unusable("AUTHORIZATION_SERVER_INVALID"),
  "pkce-plain": unusable("AUTHORIZATION_SERVER_INVALID"),
  "endpoint-http": unusable("AUTHORIZATION_SERVER_INVALID"),
  "endpoint-metadata-service": unusable("AUTHORIZATION_SERVER_INVALID"),
  "endpoint-file": unusable("AUTHORIZATION_SERVER_INVALID"),
  "endpoint-shell": unusable("AUTHORIZATION_SERVER_INVALID"),
  "endpoint-other-origin": unusable("AUTHORIZATION_ORIGIN_UNCONFIRMED"),
  "endpoint-with-parameters": works,
  "device-http": unusable("AUTHORIZATION_SERVER_INVALID"),
  "registration-absent": unusable("REGISTRATION_REFUSED"),
  "registration-refused": unusable("REGISTRATION_REFUSED"),
  "registration-secret": works,
  "takes-metadata-documents": works,
  "client-forgotten": asksAgain,
  "redirect-denied": refused,
  "redirect-script": refused,
  "redirect-wrong-issuer": refused,
  "redirect-issuer-missing": refused,
  "redirect-issuer-normalized": refused,
  "redirect-error-wrong-issuer": refused,
  "redirect-twice-code": refused,
  "token-expiry-unknown": works,
  "token-expiry-text": works,
  "token-without-refresh": asksAgain,
  "token-ends-early": works,
  "token-redirects-away": fails("TOKEN_REFUSED", 1),
  "token-echo": works,
  "refresh-keeps-token": works,
  "refresh-failing": { first: "result", second: "SERVER_FAILED", third: "SERVER_FAILED", signIns: 1 },
  "refresh-dead": asksAgain,
  "refresh-dead-unclear": asksAgain,
  "refresh-dead-in-200": asksAgain,
  "refresh-html": asksAgain,
  "revocation-absent": works,
};

test("every quirk has an expectation", () => {
  expect([...Object.keys(expectations), "metadata-silent", "redirect-wrong-state"].sort()).toEqual(
    Object.keys(quirkTable).sort(),
  );
});

test.each(Object.entries(expectations) as [Quirk, Expected][])(
  "survives an authorization server with the quirk %s as expected",
  async (quirk, expected) => {
    const client = await createQuirkyClient([quirk]);
    const { authorization, other, messages } = client;
    const first = await client.call();
    authorization.endAllAccess();
    const second = await client.call();
    const third = await client.call();
    expect({ first, second, third, signIns: client.signInRequests.length, messages }).toEqual({
      ...expected,
      messages,
    });
    // Nothing is ever sent to the target of a redirect, nor to an authorization server that no user confirmed.
    expect(client.places).not.toContain("elsewhere");
    expect(other.requests.filter(({ method }) => method !== "GET")).toEqual([]);
    for (const token of authorization.issued()) expect(messages.join()).not.toContain(token);
  },
);
