import "./dialogs.css";
import { Check_Outcome, type SignInField, type SignInStep } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { StateMark, type Tone } from "../../design/index.js";

const tones: Readonly<Record<Check_Outcome, Tone>> = {
  [Check_Outcome.UNSPECIFIED]: "idle",
  [Check_Outcome.OK]: "ready",
  [Check_Outcome.FAILED]: "failing",
  [Check_Outcome.SKIPPED]: "idle",
};

interface SignInStepsProps {
  readonly steps: readonly SignInStep[];
  /** Whether the list is initially open, as after a failure. */
  readonly isOpen: boolean;
}

/** The OAuth flow step by step: what was sent and what came back. Secrets are redacted by the gateway. */
export function SignInSteps({ steps, isOpen }: SignInStepsProps): VNode | null {
  if (steps.length === 0) return null;
  return (
    <details class="sign-in-steps" open={isOpen}>
      <summary>
        {steps.length} {steps.length === 1 ? "step" : "steps"} of the OAuth flow
      </summary>
      <ol>
        {steps.map((step, index) => (
          <li key={`${index} ${step.name}`}>
            <details open={step.outcome === Check_Outcome.FAILED}>
              <summary>
                <StateMark tone={tones[step.outcome] ?? "idle"}>{step.name}</StateMark>{" "}
                <span class="soft">{resultOf(step)}</span>
              </summary>
              {step.url !== "" && (
                <code>
                  {step.method} {step.url}
                </code>
              )}
              <Fields arrow="→" what="sent" fields={step.sent} />
              <Fields arrow="←" what="received" fields={step.received} />
              {step.failure !== "" && <p>{step.failure}</p>}
            </details>
          </li>
        ))}
      </ol>
    </details>
  );
}

function resultOf({ status, durationMs }: SignInStep): string {
  return [status > 0 && String(status), durationMs > 0 && `${durationMs} ms`].filter(Boolean).join(", ");
}

interface FieldsProps {
  readonly arrow: string;
  readonly what: string;
  readonly fields: readonly SignInField[];
}

function Fields({ arrow, what, fields }: FieldsProps): VNode | null {
  if (fields.length === 0) return null;
  return (
    <ul class="sign-in-fields" aria-label={what}>
      {fields.map(({ name, value }) => (
        <li key={name}>
          <span class="soft">
            {arrow} {name}:
          </span>{" "}
          <code>{value}</code>
        </li>
      ))}
    </ul>
  );
}
