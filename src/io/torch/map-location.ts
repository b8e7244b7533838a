// Where the storages of a .pt file go, as `torch.load`'s `map_location` says it.
import { isDict } from "../../tensor/checks.ts";
import { CPU, Device, type DeviceLike, toDevice } from "../../tensor/device.ts";
import { TypeError } from "../../tensor/errors.ts";
import { type Storage, UntypedStorage } from "../../tensor/storage.ts";
import { movedStorage, type StoragePlaces } from "../disk/placing.ts";

/**
 * A device for all; devices by those that the file names (`{ "cuda:1": "cuda:0" }`), where what is not named comes to
 * the CPU; or a function of a storage on the CPU and the name of its device in the file. It gives a device, a storage
 * that is used instead, or nothing for the CPU.
 */
export type MapLocation =
  | DeviceLike
  | Readonly<Record<string, DeviceLike>>
  | ((storage: UntypedStorage, location: string) => DeviceLike | UntypedStorage | null | undefined);

/** Gives a storage its place. */
export type Placing = (storage: Storage, location: string) => Storage;

/** What puts storages where they are wanted, into places of which the bytes come later. */
export function placingOf(wanted: MapLocation | null | undefined): (places: StoragePlaces) => Placing {
  if (wanted === null || wanted === undefined) return () => (storage) => storage;
  if (typeof wanted === "function") {
    return () => (storage, location) => {
      const answer = wanted(new UntypedStorage(storage), location);
      if (answer instanceof UntypedStorage) return answer.storage;
      return answer === null || answer === undefined ? storage : movedStorage(storage, toDevice(answer));
    };
  }
  if (isDict(wanted)) {
    const known = new Map(Object.entries(wanted).map(([from, to]) => [from, toDevice(to as DeviceLike)]));
    return (places) => (storage, location) => places.place(storage, known.get(location) ?? CPU);
  }
  if (!(wanted instanceof Device) && typeof wanted !== "string" && typeof wanted !== "number") {
    throw new TypeError("mapLocation must be a device, a record of devices, or a function", { op: "loadTorch" });
  }
  const device = toDevice(wanted);
  return (places) => (storage) => places.place(storage, device);
}
