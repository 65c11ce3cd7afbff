import "./dialogs.css";
import { readAdminError, type SignInPrompt, type SignInStep } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import {
  ActionButton,
  Button,
  Copy,
  Dialog,
  ErrorNote,
  Field,
  Icon,
  Loading,
  PropertyList,
} from "../../design/index.js";
import { admin, putServer } from "../store/index.js";
import { SignInSteps } from "./sign-in-steps.js";

type Progress =
  | { readonly step: "starting" }
  | { readonly step: "waiting"; readonly message: string }
  | { readonly step: "prompt"; readonly prompt: SignInPrompt }
  | { readonly step: "failed"; readonly error: unknown }
  | { readonly step: "done" };

interface SignInChoices {
  readonly confirmedIssuer?: string;
  readonly confirmedOrigin?: string;
}

/** Lets the user sign in to a server: shows the requested scopes, the link and the outcome. Closing it cancels the sign-in. */
export function SignInDialog({ server, onClose }: { readonly server: string; readonly onClose: () => void }): VNode {
  const [progress, setProgress] = useState<Progress>({ step: "starting" });
  const [steps, setSteps] = useState<readonly SignInStep[]>([]);
  const [choices, setChoices] = useState<SignInChoices>({});
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setProgress({ step: "starting" });
    setSteps([]);
    const signIn = async (): Promise<void> => {
      const request = { server, ...choices, returnPath: location.pathname, withSteps: true };
      for await (const { event } of admin.signIn(request, { signal })) {
        if (signal.aborted) return;
        if (event.case === "step") setSteps((known) => [...known, event.value]);
        if (event.case === "prompt") setProgress({ step: "prompt", prompt: event.value });
        if (event.case === "waiting") setProgress({ step: "waiting", message: event.value.message });
        if (event.case === "done") {
          putServer(event.value.server);
          setProgress({ step: "done" });
        }
      }
    };
    signIn().catch((error: unknown) => {
      if (!signal.aborted) setProgress({ step: "failed", error });
    });
    return () => controller.abort();
  }, [server, choices]);

  return (
    <Dialog
      title={`Sign in to ${server}`}
      onClose={onClose}
      actions={<Button onClick={onClose}>{progress.step === "done" ? "Close" : "Cancel"}</Button>}
    >
      {progress.step === "starting" && <Loading what="sign-in" />}
      {progress.step === "waiting" && <p role="status">{progress.message}</p>}
      {progress.step === "prompt" && <Prompt prompt={progress.prompt} />}
      {progress.step === "failed" && (
        <SignInError error={progress.error} onConfirm={(confirmed) => setChoices({ ...choices, ...confirmed })} />
      )}
      {progress.step === "done" && <p role="status">Signed in to {server}.</p>}
      <SignInSteps
        key={progress.step === "failed" ? "failed" : "running"}
        steps={steps}
        isOpen={progress.step === "failed"}
      />
    </Dialog>
  );
}

function Prompt({ prompt }: { readonly prompt: SignInPrompt }): VNode {
  const { issuer, tokenOrigin, scopes, newScopes, storage, way, signInId } = prompt;
  return (
    <>
      <PropertyList
        rows={[
          ["Authorization server", issuer],
          ["Token endpoint", tokenOrigin !== "" && tokenOrigin],
          ["Scopes", scopes.length === 0 ? "chosen by the authorization server" : scopes.join(", ")],
          ["New scopes", newScopes.length > 0 && newScopes.length < scopes.length && newScopes.join(", ")],
          ["Token storage", storage],
        ]}
      />
      {way.case === "browser" && (
        <>
          <OpenLink url={way.value.url} />
          <p class="soft" role="status">
            Waiting for you to sign in there…
          </p>
          <PastedAddress signInId={signInId} redirectUri={way.value.redirectUri} />
        </>
      )}
      {way.case === "device" && (
        <>
          <p>
            Enter this code: <Copy text={way.value.userCode} what="code" isShown />
          </p>
          <OpenLink url={way.value.completeUrl || way.value.url} />
          <p class="soft" role="status">
            Waiting for you to enter the code…
          </p>
        </>
      )}
    </>
  );
}

/** Only http and https: an authorization server must not be able to make the page run a script. */
function OpenLink({ url }: { readonly url: string }): VNode {
  const host = hostOf(url);
  if (host === undefined)
    return <ErrorNote error={`The authorization server returned an address that is not a web page: ${url}`} />;
  return (
    <p>
      <a class="button button-primary" href={url} target="_blank" rel="noopener noreferrer">
        Continue at {host}
        <Icon name="external" size={14} />
      </a>
    </p>
  );
}

function hostOf(url: string): string | undefined {
  try {
    const { protocol, host } = new URL(url);
    return protocol === "https:" || protocol === "http:" ? host : undefined;
  } catch {
    return undefined;
  }
}

/** For a browser on another machine, where the redirect does not reach the gateway. */
function PastedAddress({ signInId, redirectUri }: { readonly signInId: string; readonly redirectUri: string }): VNode {
  const [pasted, setPasted] = useState("");
  return (
    <details class="pasted-address">
      <summary>Did the browser end at a page that does not load?</summary>
      <Field label="Address of that page" hint={`It starts with ${redirectUri}`}>
        {({ id, describedBy }) => (
          <input
            id={id}
            aria-describedby={describedBy}
            value={pasted}
            onInput={(event) => setPasted(event.currentTarget.value)}
          />
        )}
      </Field>
      <ActionButton isDisabled={pasted === ""} run={() => admin.completeSignIn({ signInId, address: pasted.trim() })}>
        Continue
      </ActionButton>
    </details>
  );
}

interface SignInErrorProps {
  readonly error: unknown;
  readonly onConfirm: (choices: SignInChoices) => void;
}

/** A changed authorization server, or a sign-in page at another origin, requires the user's consent. */
function SignInError({ error, onConfirm }: SignInErrorProps): VNode {
  const { issuerChange, foreignOrigin } = readAdminError(error).failure ?? {};
  return (
    <>
      <ErrorNote error={error} />
      {issuerChange !== undefined && (
        <>
          <PropertyList
            rows={[
              ["Before", issuerChange.from],
              ["Now", issuerChange.to],
            ]}
          />
          <p>
            <Button kind="danger" onClick={() => onConfirm({ confirmedIssuer: issuerChange.to })}>
              Trust {issuerChange.to} and sign in
            </Button>
          </p>
        </>
      )}
      {foreignOrigin !== undefined && (
        <p>
          <Button kind="danger" onClick={() => onConfirm({ confirmedOrigin: foreignOrigin.origin })}>
            Sign in at {foreignOrigin.origin}
          </Button>
        </p>
      )}
    </>
  );
}
