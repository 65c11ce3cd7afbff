/** The debug mode of the program that runs a gateway. */
export interface DebugSwitch {
  readonly isOn: boolean;
  set(isOn: boolean): void;
}
