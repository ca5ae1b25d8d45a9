// Made by bindings/rust/generate from the bindings: do not edit.
layout! {
    anelane_lane { bits }
    anelane_model { bits }
    anelane_lease { bits }
    anelane_op { bits }
    anelane_tokenizer { bits }
    anelane_error { struct_size status error_class safe_to_retry retry_after_ms lane_id limit item shape holder_pid model message }
    anelane_lane_options { struct_size engine worker_mode flags executable_budget shapes_per_model shapes_total max_waiting settle_ms handoff_ms lease_max_ms soft_threads admission_bound_ms drain_ms lock_dir cache_dir temp_dir worker_path record_path reserved }
    anelane_model_options { struct_size flags rung_count reserved0 rungs name numerics progress progress_user reserved }
    anelane_tokens { ids count }
    anelane_tensor { data bytes port reserved }
    anelane_connection { input output }
    anelane_layer { mil mil_bytes weights weight_bytes connect connect_count reserved }
    anelane_program_rung { shape layer_count layers }
    anelane_program { struct_size rung_count rungs reserved }
    anelane_port { struct_size dtype rank is_output dims strides bytes name }
    anelane_model_info { struct_size kind engine dim ceiling layers rung_count rungs cached_rungs host_bytes first_ready_ms architecture vector_space }
    anelane_lane_stats { struct_size budget reserved_programs resident leased waiting models compiling_shape compiling_ms compiling_predicted_ms admitted loaded compiled evicted refused restarts answered cancelled compiling_model }
    anelane_holder { struct_size held pid record_stale since_unix_ms program }
}
