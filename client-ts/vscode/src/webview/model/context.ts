/** The model, for every component. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Model } from "./model";

export const ModelContext = createContext<Model | undefined>(undefined);

export function useModel(): Model {
  const model = useContext(ModelContext);
  if (model === undefined) throw new Error("A component stands outside of ModelContext.");
  return model;
}
