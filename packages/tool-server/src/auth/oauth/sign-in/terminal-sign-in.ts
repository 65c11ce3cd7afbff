import { printableText } from "../../../printable-text.js";
import type { Ask, SignInPrompt } from "./ask.js";
import { hasBrowser, openBrowser } from "./open-browser.js";

/** The terminal of the user who signs in. */
export interface TerminalSignInOptions {
  /** Default: the variables of this process, which decide whether and which browser opens. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where the text is written. Default: standard error. */
  readonly stderr?: { write(text: string): unknown } | undefined;
  /** Asks the user a question; rejects if the signal aborts. Default: nothing is asked, and what has to be confirmed is declined. */
  readonly ask?: ((question: string, signal?: AbortSignal) => Promise<string>) | undefined;
  /** The origin of a sign-in page that needs no confirmation, if it is not that of the authorization server. Default: none. */
  readonly confirmedOrigin?: string | undefined;
}

const reasons: Readonly<Record<SignInPrompt["reason"], string>> = {
  asked: "as requested",
  first: "because there is no sign-in yet",
  dead: "because the last sign-in expired",
  "step-up": "because it requires more scopes",
};

/**
 * Lets the person at the terminal sign in, as the command line does: shows the requested scopes, opens the browser, whose redirect this
 * process receives on the loopback interface, and accepts a pasted address. Several sign-ins run one after the other.
 */
export function createTerminalSignIn(options: TerminalSignInOptions = {}): Ask {
  const { env = process.env, stderr = process.stderr, ask, confirmedOrigin } = options;
  const say = (text = ""): void => {
    stderr.write(`${printableText(text, Number.POSITIVE_INFINITY)}\n`);
  };
  let last: Promise<unknown> = Promise.resolve();

  const confirm = async (question: string, signal: AbortSignal): Promise<boolean> => {
    const reply = await ask?.(question, signal);
    return reply !== undefined && /^y(?:es)?$/i.test(reply.trim());
  };

  const sayTokenOrigin = (origin: string | undefined): void => {
    if (origin !== undefined) say(`Tokens are requested from ${origin}, another origin.`);
  };

  const show = ({ server, issuer, tokenOrigin, reason, scopes, newScopes, vault, way }: SignInPrompt): void => {
    say(`Sign in to ${server} with ${issuer}, ${reasons[reason]}.`);
    const { origin } = new URL(way.url);
    if (origin !== new URL(issuer).origin) say(`The sign-in page is at ${origin}.`);
    sayTokenOrigin(tokenOrigin);
    if (scopes.length > 0) {
      say("Requested scopes:");
      // At a first sign-in all of them are new.
      const marksNew = reason === "step-up" || newScopes.length < scopes.length;
      for (const scope of scopes) say(`  ${scope}${marksNew && newScopes.includes(scope) ? "  (new)" : ""}`);
    } else say("The authorization server decides which scopes are granted.");
    say(vault.warning ?? vault.summary);
  };

  return {
    async show(prompt, signal) {
      const over = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      const before = last;
      last = Promise.all([before, over]);
      await Promise.race([before, over]);
      signal.throwIfAborted();
      show(prompt);
      const { way } = prompt;
      if (way.kind === "device") {
        say(`Open ${way.url} on any device and enter the code ${way.userCode}`);
        if (way.completeUrl !== undefined) say(`or open ${way.completeUrl}`);
        say("Waiting for the sign-in.");
        return undefined;
      }
      const isOpened = hasBrowser({ env }) && (await openBrowser(way.url, { env }));
      say(isOpened ? "A browser window opened. If not, open this URL:" : "Open this URL in a browser:");
      // Not escaped for the terminal: it is a URL that was parsed and serialized again.
      stderr.write(`  ${way.url}\n`);
      if (ask === undefined) return undefined;
      const question = isOpened
        ? "Waiting for the browser. If it cannot reach this machine, paste the address of the page it shows last: "
        : "Then paste the address of the page that the browser shows last, or wait: ";
      const pasted = (await ask(question, signal)).trim();
      return pasted === "" ? undefined : pasted;
    },
    onEvent({ kind, text }) {
      if (kind !== "callback-rejected") return;
      // The cursor may be behind a question.
      if (ask !== undefined) say();
      say(text);
    },
    async confirm(question, signal) {
      const { server } = question;
      if (question.kind === "issuer") {
        say(`${server} now uses another authorization server: ${question.to} instead of ${question.from}.`);
        say("Either its operator has moved it, or somebody is trying to get your credentials.");
        return confirm("Sign in there? [y/N] ", signal);
      }
      const { issuer, origin, tokenOrigin } = question;
      if (origin === confirmedOrigin) return true;
      say(`${server} uses the authorization server ${issuer}, whose sign-in page is at another origin: ${origin}`);
      sayTokenOrigin(tokenOrigin);
      say(
        "Many services use two hosts, but a hostile server can do the same to get access to your account on the other one.",
      );
      return confirm(`Do ${new URL(issuer).host} and ${new URL(origin).host} belong together? [y/N] `, signal);
    },
  };
}
