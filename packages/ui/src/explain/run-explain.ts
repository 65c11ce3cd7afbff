import type { Check, Explanation } from "@wirescope/gateway/admin";
import { useEffect, useState } from "preact/hooks";
import { hasNavigated } from "../shell/routing/index.js";
import { admin } from "../shell/store/index.js";
import { addStep } from "./add-step.js";

/** The progress of a diagnosis. */
export interface ExplainProgress {
  /** The steps that are done, in order. */
  readonly steps: readonly Check[];
  /** Undefined while it runs, and if it failed. */
  readonly explanation: Explanation | undefined;
  readonly error: unknown;
  readonly isStarted: boolean;
  /** Starts the diagnosis, or starts it again. */
  readonly run: () => void;
}

const noSteps: readonly Check[] = [];

/**
 * Diagnoses a server while the view is shown, and again on request. If the page was loaded at this address, it waits for a click: a
 * diagnosis sends requests with the server's credentials, and any page on the web can link to this address.
 */
export function useExplain(server: string): ExplainProgress {
  const [round, setRound] = useState(hasNavigated() ? 1 : 0);
  const [steps, setSteps] = useState(noSteps);
  const [explanation, setExplanation] = useState<Explanation>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (round === 0) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    setSteps(noSteps);
    setExplanation(undefined);
    setError(undefined);
    const read = async (): Promise<void> => {
      for await (const { event } of admin.explain({ server }, { signal })) {
        if (signal.aborted) return;
        if (event.case === "step") setSteps((known) => addStep(known, event.value));
        if (event.case === "explanation") {
          setExplanation(event.value);
          setSteps(event.value.steps);
        }
      }
    };
    read().catch((reason: unknown) => {
      if (!signal.aborted) setError(reason);
    });
    return () => controller.abort();
  }, [server, round]);
  return { steps, explanation, error, isStarted: round > 0, run: () => setRound((count) => count + 1) };
}
